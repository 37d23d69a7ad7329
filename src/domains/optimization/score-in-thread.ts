import type { SearchPorts } from '../prompt-search/index.ts';
import { TemplateLimitError, type WorkspaceThreads } from '../templates/index.ts';
import { patiently } from './patiently.ts';

/**
 * Returns how a run scores with metrics whose time depends on what a user wrote: in a thread that is
 * ended after its time limit. The row has an error then, and no score.
 */
export function scoreInThread(threads: WorkspaceThreads, signal: AbortSignal): SearchPorts['score'] {
  return async (metric, input) => {
    try {
      return await patiently(signal, () => threads.run('score', { metric, input }));
    } catch (error) {
      if (error instanceof TemplateLimitError) return { error: `metric_too_slow: ${metric.type}: ${error.message}` };
      throw error;
    }
  };
}
