import { UnrecoverableError } from 'bullmq';
import type { z } from 'zod';
import { AppError } from '../src/lib/errors.ts';
import type { ErrorKind } from '../src/lib/problem-codes.ts';

/**
 * What happens to a job whose processor failed: a later retry, or the end of the job with its
 * reason.
 */
const outcomes = {
  malformed: 'give_up',
  unauthenticated: 'give_up',
  exhausted: 'give_up',
  forbidden: 'give_up',
  not_found: 'give_up',
  method_not_allowed: 'give_up',
  conflict: 'retry',
  precondition_failed: 'give_up',
  too_large: 'give_up',
  unsupported_media_type: 'give_up',
  invalid: 'give_up',
  rate_limited: 'retry',
  unavailable: 'retry',
} as const satisfies Record<ErrorKind, 'retry' | 'give_up'>;

/**
 * Parses the payload with the job's schema and runs the processor.
 * @throws UnrecoverableError, which ends the job, for an error that a retry cannot fix
 */
export async function runJob<S extends z.ZodType>(
  schema: S,
  data: unknown,
  process: (payload: z.output<S>) => Promise<unknown>,
): Promise<unknown> {
  const parsed = schema.safeParse(data);
  if (!parsed.success) throw new UnrecoverableError(`The payload does not fit its schema: ${parsed.error.message}`);
  try {
    return await process(parsed.data);
  } catch (error) {
    if (error instanceof AppError && outcomeOf(error) === 'give_up') throw new UnrecoverableError(error.message);
    throw error;
  }
}

function outcomeOf(error: AppError): 'retry' | 'give_up' {
  return outcomes[error.kind];
}
