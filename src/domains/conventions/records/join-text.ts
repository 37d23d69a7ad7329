import { guarded, type Reading } from '../candidates.ts';
import { messagesOf, ofMessages } from '../messages/content.ts';
import type { Content } from '../messages/message.ts';
import { isSystemOnly, newest, withSystemFirst } from '../messages/system-messages.ts';
import { readInput, readOutput } from '../text.ts';

/**
 * Returns the input and output of a span, each from the span itself or else from its records. The
 * span's own system instructions go in front of the records' messages.
 */
export function readJoinedText(reading: Reading, logged: Reading) {
  const own = { input: readInput(reading), output: readOutput(reading) };
  return {
    input: guarded(reading, 'input', () => joinedInput(own.input, reading, logged), own.input),
    output: own.output ?? readOutput(logged),
  };
}

function joinedInput(own: Content | undefined, reading: Reading, logged: Reading): Content | undefined {
  if (own === undefined) return readInput(logged);
  if (own.messages === null || !isSystemOnly(own)) return own;
  const sent = readInput(logged);
  if (sent === undefined) return own;
  const all = withSystemFirst(own.messages, messagesOf(sent));
  return all === sent.messages ? sent : (ofMessages(newest(all, reading), reading) ?? own);
}
