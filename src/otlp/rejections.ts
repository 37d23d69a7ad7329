/** Why a span is refused: the rule it breaks and the value that breaks it, fit to be shown to the sender. */
export interface SpanFault {
  rule: string;
  value: string;
}

const reasonsMax = 10;
const shownCharactersMax = 60;

/** Counts refused spans by rule; the first bad value of each rule stands for the others. */
export class Rejections {
  count = 0;
  readonly #byRule = new Map<string, { count: number; example: string }>();

  add(fault: SpanFault): void {
    this.count++;
    const known = this.#byRule.get(fault.rule);
    if (known) known.count++;
    else this.#byRule.set(fault.rule, { count: 1, example: fault.value });
  }

  reasons(): string[] {
    const all = [...this.#byRule].map(([rule, { count, example }]) =>
      count === 1 ? `1 span: ${rule}, not ${example}` : `${count} spans: ${rule}, not (for one) ${example}`,
    );
    return all.length <= reasonsMax ? all : [...all.slice(0, reasonsMax), `${all.length - reasonsMax} more reasons`];
  }
}

/** A value from outside as it may appear in a message: scalars shortened, structures only by their kind. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    const cut = value.length > shownCharactersMax;
    return `${JSON.stringify(value.slice(0, shownCharactersMax))}${cut ? ` (of ${value.length} characters)` : ''}`;
  }
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
