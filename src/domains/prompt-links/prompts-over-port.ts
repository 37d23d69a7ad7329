import type { MessagePort } from 'node:worker_threads';
import type { PromptFinder } from './known-prompts.ts';

/** Answers the questions of a thread about prompts, until the port is closed. */
export function answerPrompts(port: MessagePort, prompts: PromptFinder): void {
  port.on('message', (question: Parameters<PromptFinder['find']>) => {
    void prompts.find(...question).then((found) => port.postMessage(found));
  });
}

/** Returns a finder that asks the main thread, which has the cache, one question at a time. */
export function promptsOver(port: MessagePort): PromptFinder {
  return {
    find: (...question) =>
      new Promise((resolve) => {
        port.once('message', resolve);
        port.postMessage(question);
      }),
  };
}
