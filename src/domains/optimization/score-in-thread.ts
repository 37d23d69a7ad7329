import { unlessAborted } from '../../lib/unless-aborted.ts';
import type { SearchPorts } from '../prompt-search/index.ts';
import { TemplateLimitError, type TemplateThreads } from '../templates/index.ts';
import { patiently } from './patiently.ts';

/**
 * Returns how a run scores with metrics whose time depends on what a user wrote: in a thread that is
 * ended after its time limit. The row has an error then, and no score. What waits for a thread when
 * the signal is aborted does not begin.
 */
export function scoreInThread(
  source: Pick<TemplateThreads, 'of'>,
  { workspaceId }: { workspaceId: string },
  signal: AbortSignal,
): SearchPorts['score'] {
  const threads = source.of(workspaceId, { signal });
  return async (metric, input) => {
    try {
      return await patiently(signal, () => unlessAborted(signal, threads.run('score', { metric, input })));
    } catch (error) {
      if (error instanceof TemplateLimitError) return { error: `metric_too_slow: ${metric.type}: ${error.message}` };
      throw error;
    }
  };
}
