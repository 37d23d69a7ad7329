/**
 * Why a span is rejected: the rule that it breaks and the invalid value. Safe to show to the
 * sender.
 */
export interface SpanFault {
  rule: string;
  value: string;
}

const reasonsMax = 10;
const shownCharactersMax = 60;

/** Counts rejected spans per rule. Keeps the first invalid value of each rule as the example. */
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
      count === 1 ? `1 span: ${rule}, not ${example}` : `${count} spans: ${rule}, not, for example, ${example}`,
    );
    return all.length <= reasonsMax ? all : [...all.slice(0, reasonsMax), `${all.length - reasonsMax} more reasons`];
  }
}

/**
 * Formats an external value for a message. Strings are shortened; of objects and arrays only the
 * type is shown.
 */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    const cut = value.length > shownCharactersMax;
    return `${JSON.stringify(value.slice(0, shownCharactersMax))}${cut ? ` (of ${value.length} characters)` : ''}`;
  }
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
