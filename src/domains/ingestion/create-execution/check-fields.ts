import type { z } from 'zod';
import { readIsoTime } from '../../../otlp/iso-time.ts';

type Given<T> = T | null | undefined;

/** The fields of an execution or a span that the rules read. */
interface Fields {
  started_at?: Given<string>;
  ended_at?: Given<string>;
  duration_ms?: Given<number>;
  status?: Given<string>;
  error?: unknown;
  prompt_id?: Given<string>;
  prompt_version?: unknown;
  usage?: Given<Partial<Record<Count, Given<number>>>>;
}

type Count =
  | 'input_tokens'
  | 'output_tokens'
  | 'cache_read_tokens'
  | 'cache_write_tokens'
  | 'reasoning_tokens'
  | 'total_tokens';

interface Rule {
  path: readonly string[];
  /** Returns what is wrong, or undefined when the rule is kept. */
  fault: (fields: Fields) => string | undefined;
}

/** Rules that compare several fields. The schema of a single field cannot check them. */
const rules: readonly Rule[] = [
  { path: ['ended_at'], fault: endFault },
  { path: ['duration_ms'], fault: ({ ended_at, duration_ms }) => both(ended_at, duration_ms) },
  { path: ['status'], fault: statusFault },
  { path: ['prompt_version'], fault: promptFault },
  { path: ['usage', 'cache_read_tokens'], fault: part('cache_read_tokens', 'input_tokens') },
  { path: ['usage', 'cache_write_tokens'], fault: part('cache_write_tokens', 'input_tokens') },
  { path: ['usage', 'input_tokens'], fault: cacheFault },
  { path: ['usage', 'reasoning_tokens'], fault: part('reasoning_tokens', 'output_tokens') },
  { path: ['usage', 'total_tokens'], fault: totalFault },
];

/** Adds an issue for every rule that an execution or a span breaks. */
export function checkFields(fields: Fields, context: z.core.$RefinementCtx): void {
  for (const { path, fault } of rules) {
    const message = fault(fields);
    if (message !== undefined) context.addIssue({ code: 'custom', path: [...path], message, input: undefined });
  }
}

function endFault({ started_at, ended_at }: Fields): string | undefined {
  const start = readIsoTime(started_at ?? '');
  const end = readIsoTime(ended_at ?? '');
  if (start === undefined || end === undefined || end >= start) return undefined;
  return `must not be before started_at: ${ended_at} is before ${started_at}`;
}

function both(endedAt: unknown, durationMs: unknown): string | undefined {
  return isGiven(endedAt) && isGiven(durationMs) ? 'must not be given together with ended_at' : undefined;
}

function statusFault({ status, error }: Fields): string | undefined {
  if (!isGiven(error) || !isGiven(status) || status === 'error') return undefined;
  return `must be "error" or absent if the execution or span has an error, not "${status}"`;
}

function promptFault({ prompt_id, prompt_version }: Fields): string | undefined {
  return isGiven(prompt_version) && !isGiven(prompt_id) ? 'requires a prompt_id' : undefined;
}

function part(name: Count, whole: Count) {
  return ({ usage }: Fields): string | undefined => {
    const [has, may] = [usage?.[name] ?? 0, usage?.[whole] ?? 0];
    return has > Math.max(0, may)
      ? `must not be more than ${whole}, which includes it: ${has} is more than ${may}`
      : undefined;
  };
}

function cacheFault({ usage }: Fields): string | undefined {
  const { input_tokens: input, cache_read_tokens: read, cache_write_tokens: write } = usage ?? {};
  const cached = (read ?? 0) + (write ?? 0);
  // When the read or the write tokens alone exceed the input, their own rule reports it.
  if (cached <= (input ?? 0) || Math.max(read ?? 0, write ?? 0) > (input ?? 0)) return undefined;
  return `must include the tokens read from and written to the cache: ${input ?? 0} is less than ${cached}`;
}

function totalFault({ usage }: Fields): string | undefined {
  const parts = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  const total = usage?.total_tokens ?? parts;
  return total < parts
    ? `must not be less than the sum of input_tokens and output_tokens: ${total} is less than ${parts}`
    : undefined;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
