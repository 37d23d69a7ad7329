import type { AnyValue } from '../../otlp/span.ts';
import type { Reading } from './candidates.ts';
import { limits } from './limits.ts';
import { count, isObject, parsed } from './read-value.ts';

export type LangfusePart = 'input' | 'output' | 'total' | 'cacheRead' | 'cacheWrite' | 'reasoning';

const partNames = {
  cacheRead: ['input_cached_tokens', 'input_cache_read', 'input_cached'],
  cacheWrite: ['input_cache_creation', 'input_cache_creation_5m', 'input_cache_creation_1h'],
  reasoning: ['output_reasoning_tokens', 'output_reasoning'],
} as const;

/**
 * Reads Langfuse's `usage_details`. Langfuse's own clients send exclusive counts (`input` 34 +
 * `input_cached_tokens` 8 = 42), so these are summed. Counts written by hand are often inclusive;
 * then their sum exceeds the total.
 */
export function langfuseUsage(value: AnyValue, reading: Reading): Partial<Record<LangfusePart, number>> | undefined {
  if (typeof value === 'string' && value.length > limits.usageCharsMax) return undefined;
  const details = parsed(value, reading);
  if (!isObject(details)) return undefined;
  const names = Object.keys(details);
  if (names.length > limits.usagePartsMax) return undefined;
  const counts = new Map<string, number>();
  for (const name of names) {
    const read = count(details[name], reading);
    if (read !== undefined) counts.set(name, read);
  }
  const summed = { input: sumOf(counts, 'input'), output: sumOf(counts, 'output') };
  const total = counts.get('total');
  const inclusive = total !== undefined && (summed.input ?? 0) + (summed.output ?? 0) > total;
  return present({
    input: inclusive ? (counts.get('input') ?? summed.input) : summed.input,
    output: inclusive ? (counts.get('output') ?? summed.output) : summed.output,
    total,
    cacheRead: firstOf(counts, partNames.cacheRead),
    cacheWrite: partNames.cacheWrite.some((name) => counts.has(name)) ? addOf(counts, partNames.cacheWrite) : undefined,
    reasoning: firstOf(counts, partNames.reasoning),
  });
}

function sumOf(counts: ReadonlyMap<string, number>, prefix: string): number | undefined {
  let sum: number | undefined;
  for (const [name, each] of counts) if (name.startsWith(prefix)) sum = (sum ?? 0) + each;
  return sum;
}

function firstOf(counts: ReadonlyMap<string, number>, names: readonly string[]): number | undefined {
  for (const name of names) if (counts.has(name)) return counts.get(name);
  return undefined;
}

function addOf(counts: ReadonlyMap<string, number>, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
}

function present<K extends string>(parts: Record<K, number | undefined>): Partial<Record<K, number>> {
  const found: Partial<Record<K, number>> = {};
  for (const name in parts) if (parts[name] !== undefined) found[name] = parts[name];
  return found;
}
