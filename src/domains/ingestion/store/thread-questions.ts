import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import type { RecordFinder } from '../../log-records/index.ts';
import type { PromptFinder } from '../../prompt-links/index.ts';

/** What a thread asks the main thread, which has the caches and the connections. */
interface Finders {
  prompts: PromptFinder['find'];
  records: RecordFinder['find'];
}

type Question = { [Name in keyof Finders]: { about: Name; given: Parameters<Finders[Name]> } }[keyof Finders];

/**
 * Answers the questions from the other end of the port, one at a time, until the port is closed.
 */
export function answerQuestions(port: MessagePort, finders: Finders): void {
  port.on('message', async (question: Question) => {
    const found =
      question.about === 'prompts' ? finders.prompts(...question.given) : finders.records(...question.given);
    port.postMessage(await found);
  });
}

/** Returns the finders that ask the other end of the port, one question at a time. */
export function findersOver(port: MessagePort): Finders {
  async function ask(question: Question): Promise<unknown> {
    const answer = once(port, 'message');
    port.postMessage(question);
    return (await answer)[0];
  }
  return {
    prompts: (...given) => ask({ about: 'prompts', given }) as ReturnType<Finders['prompts']>,
    records: (...given) => ask({ about: 'records', given }) as ReturnType<Finders['records']>,
  };
}
