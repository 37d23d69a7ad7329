const mark = '\u{F8FF}raw:';
const marked = new RegExp(`"${mark}([^"]*)"`, 'gu');

/** JSON text that `JSON.stringify` does not write, such as `1e400`; only {@link toJsonText} knows it. */
export class RawJson {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): string {
    return mark + encodeURIComponent(this.#text);
  }
}

/**
 * As `JSON.stringify`, with every {@link RawJson} as it is. Lone surrogates become escapes,
 * `undefined` becomes `null`.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.replaceAll(marked, (_, raw: string) => decodeURIComponent(raw));
}
