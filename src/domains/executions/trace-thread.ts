import type { MessagePort } from 'node:worker_threads';
import { move } from 'piscina';
import { AppError } from '../../lib/errors.ts';
import { lowerThreadPriority } from '../../runtime/low-priority.ts';
import { connectClickHouse, lastSettings, stoppableSettings } from '../../stores/clickhouse/client.ts';
import { promptsOver } from '../prompt-links/index.ts';
import { type TraceReadInput, type TraceReadName, traceReads } from './trace-reads.ts';

export interface ThreadTask<Name extends TraceReadName = TraceReadName> {
  name: Name;
  input: TraceReadInput<Name>;
  clickhouseUrl: string;
  cursorSecret: string;
  /** Port for questions about prompts, which the main thread answers. */
  prompts: MessagePort;
}

/** An error loses its class between threads, so an error for the caller is returned as a value. */
export type ThreadOutcome = Uint8Array | { refused: Pick<AppError, 'kind' | 'code' | 'message' | 'retryAfterS'> };

/**
 * Runs one read of a large trace in a worker thread, where a long computation delays no other
 * request.
 */
export async function readInThread<Name extends TraceReadName>(
  task: ThreadTask<Name>,
): Promise<ThreadOutcome | ReturnType<typeof move>> {
  lowerThreadPriority();
  // A thread that ends closes its connections, and ClickHouse must then stop what it reads for it.
  const clickhouse = connectClickHouse(task.clickhouseUrl, { settings: { ...lastSettings, ...stoppableSettings } });
  const { cursorSecret } = task;
  try {
    const deps = { clickhouse, cursorSecret, knownPrompts: promptsOver(task.prompts), large: true };
    const bytes = new TextEncoder().encode(await traceReads[task.name](deps, task.input));
    return move(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { kind, code, message, retryAfterS }: AppError = error;
    return { refused: { kind, code, message, retryAfterS } };
  } finally {
    task.prompts.close();
    await clickhouse.close();
  }
}
