import { oneTurn, type Rest } from '../lib/pace.ts';

/** Reading pauses after each such amount of bytes, because copying them takes one to two milliseconds. */
const slackBytes = 1024 * 1024;
/** Bytes that this turn of the event loop has read. Each of very many connections could have {@link slackBytes} there. */
let bytesOfTurn = 0;

function countInTurn(bytes: number): void {
  if (bytesOfTurn === 0) {
    setImmediate(() => {
      bytesOfTurn = 0;
    });
  }
  bytesOfTurn += bytes;
}

/**
 * Pauses a stream after each {@link slackBytes} that are read, for as long as `rest` says then; for good if it rejects.
 * It pauses as well until the next turn of the event loop when this one has read so much.
 * @returns a function that ends this; a stream that pauses then stays paused
 */
export function readInTurns(stream: NodeJS.ReadableStream, rest: Rest, read = { bytes: 0 }): () => void {
  let hasEnded = false;
  const goOn = () => {
    if (!hasEnded) stream.resume();
  };
  const count = (chunk: Buffer) => {
    countInTurn(chunk.length);
    read.bytes += chunk.length;
    if (read.bytes < slackBytes && bytesOfTurn < slackBytes) return;
    stream.pause();
    if (read.bytes < slackBytes) return void oneTurn().then(goOn);
    read.bytes = 0;
    void rest().then(goOn, () => undefined);
  };
  stream.on('data', count);
  return () => {
    hasEnded = true;
    stream.off('data', count);
  };
}
