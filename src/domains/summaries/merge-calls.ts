import { textKey } from '../../lib/text-key.ts';
import { type TokenUsage, usageParts } from '../spans/index.ts';
import type { ExecutionCall } from './execution-calls.ts';

/** Calls of an execution that are stored one by one. */
export const callsMax = 5_000;

const minuteNano = 60_000_000_000n;
/**
 * Calls within one such time can be merged. A quarter of an hour keeps the hours of every time zone, an hour keeps the
 * days of most. Longer times are those of UTC.
 */
const spansOfTime = [15n * minuteNano, 60n * minuteNano, 24n * 60n * minuteNano, 2n ** 64n];

/**
 * Merges calls, which are in order of start, that differ only in their span, start, duration, usage and cost, if there are more
 * than `max`. Numbers of calls, usage and costs stay exact. Each merged call has the earliest start and
 * the means of the durations. Calls of an hour, a day or more are merged when those of a shorter time
 * are still too many. Those that have too many different models, providers and prompts lose these names.
 */
export function mergeCalls(calls: readonly ExecutionCall[], max = callsMax): readonly ExecutionCall[] {
  let merged = calls;
  for (const nanos of spansOfTime) {
    if (merged.length <= max) break;
    merged = mergeWithin(merged, nanos);
  }
  return merged.length > max ? mergeNames(merged, max) : merged;
}

const noNames = { provider: '', model: '', prompt: { id: '', name: '', version: 0, key: '' } } as const;
/** Calls that keep their names when there are too many names: the others become at most twelve without any. */
const namelessMax = 12;

function mergeNames(calls: readonly ExecutionCall[], max: number): ExecutionCall[] {
  const named = Math.max(0, max - namelessMax);
  const nameless = calls.slice(named).map((call) => ({ ...call, ...noNames }));
  return [...calls.slice(0, named), ...mergeWithin(nameless, 2n ** 64n)];
}

function mergeWithin(calls: readonly ExecutionCall[], nanos: bigint): ExecutionCall[] {
  const groups = new Map<string, ExecutionCall>();
  for (const call of calls) {
    const key = keyOf(call, nanos);
    const group = groups.get(key);
    groups.set(key, group === undefined ? call : sumOf(group, call));
  }
  return [...groups.values()];
}

function keyOf(call: ExecutionCall, nanos: bigint): string {
  const { status, provider, model, counted, costNanoUsd, prompt } = call;
  const isPriced = costNanoUsd !== null;
  const time = (call.startUnixNano / nanos).toString();
  const { id, name, version, key } = prompt;
  return textKey(JSON.stringify([time, status, provider, model, counted, isPriced, id, name, version, key]));
}

function sumOf(a: ExecutionCall, b: ExecutionCall): ExecutionCall {
  const calls = a.calls + b.calls;
  const mean = (left: number, right: number) => (left * a.calls + right * b.calls) / calls;
  return {
    ...a,
    spanId: '',
    calls,
    durationMs: mean(a.durationMs, b.durationMs),
    ttftMs: a.ttftMs === null || b.ttftMs === null ? (a.ttftMs ?? b.ttftMs) : mean(a.ttftMs, b.ttftMs),
    usage: addUsage(a.usage, b.usage),
    costNanoUsd: a.costNanoUsd === null ? null : a.costNanoUsd + (b.costNanoUsd ?? 0n),
  };
}

function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  const sum = { ...a };
  for (const part of usageParts) sum[part] += b[part];
  return sum;
}
