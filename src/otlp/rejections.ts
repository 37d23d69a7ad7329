import { signalTerms } from './otlp-schema.ts';
import type { Signal } from './signal.ts';

/**
 * Why a span or log record is rejected: the rule that it breaks and the invalid value. Safe to show
 * to the sender.
 */
export interface ItemFault {
  rule: string;
  value: string;
}

/** Returns whether reading an item returned a fault instead of the item. */
export function isFault(read: object): read is ItemFault {
  return 'rule' in read;
}

const reasonsMax = 10;
const shownCharactersMax = 60;

/** Counts rejected spans or log records per rule. Keeps the first invalid value of each rule as the example. */
export class Rejections {
  count = 0;
  readonly #signal: Signal;
  readonly #byRule = new Map<string, { count: number; example: string }>();

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  add(fault: ItemFault): void {
    this.count++;
    const known = this.#byRule.get(fault.rule);
    if (known) known.count++;
    else this.#byRule.set(fault.rule, { count: 1, example: fault.value });
  }

  reasons(): string[] {
    const { item, items } = signalTerms[this.#signal];
    const all = [...this.#byRule].map(([rule, { count, example }]) =>
      count === 1 ? `1 ${item}: ${rule}, not ${example}` : `${count} ${items}: ${rule}, not, for example, ${example}`,
    );
    return all.length <= reasonsMax ? all : [...all.slice(0, reasonsMax), `${all.length - reasonsMax} more reasons`];
  }
}

/**
 * Returns the fault of an item above the limit. Such items are rejected one by one, so that the
 * first ones are kept.
 */
export function overLimitFault(signal: Signal, itemsMax: number): ItemFault {
  const { item, items } = signalTerms[signal];
  return { rule: `a request may have at most ${itemsMax} ${items}`, value: `${item} ${itemsMax + 1} and later` };
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
