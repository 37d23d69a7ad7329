const quotedCharsMax = 300;

/** Returns the text of an expected value: strings as they are, other values as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Returns a value in quotes for feedback, cut to 300 characters. */
export function quote(value: unknown): string {
  const text = textOf(value);
  return `"${text.length > quotedCharsMax ? `${text.slice(0, quotedCharsMax)}…` : text}"`;
}

/** Returns the JSON value of a text, which may stand in a fence; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1];
  try {
    return JSON.parse(fenced ?? text);
  } catch {
    return undefined;
  }
}
