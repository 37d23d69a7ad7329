import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import type { KnownPrompt, PromptFinder } from '../../prompt-links/index.ts';

interface Question {
  projectId: string;
  wanted: ReadonlySet<string>;
}

/**
 * Answers the questions from the other end of the port, one at a time, until the port is closed.
 */
export function answerPrompts(port: MessagePort, finder: PromptFinder): void {
  port.on('message', async ({ projectId, wanted }: Question) => {
    port.postMessage(await finder.find(projectId, wanted));
  });
}

/** Returns a finder that asks the other end of the port, one question at a time. */
export function promptsOver(port: MessagePort): PromptFinder {
  return {
    async find(projectId, wanted) {
      const answer = once(port, 'message');
      port.postMessage({ projectId, wanted } satisfies Question);
      const [found] = (await answer) as [ReadonlyMap<string, KnownPrompt>];
      return found;
    },
  };
}
