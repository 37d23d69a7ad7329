import type { Socket } from 'node:net';

const sliceBytes = 1_024;
/** A slice that costs more is followed by a rest. One of chunks of one byte costs 0.24 ms. */
const sliceMsMax = 0.1;

export interface SliceOptions {
  /** Milliseconds that all reading has cost until now. Only differences matter. */
  costMs: () => number;
  /**
   * Waits after a slice that cost so many milliseconds.
   * @throws when too many wait
   */
  rest: (ms: number) => Promise<void>;
}

/**
 * Passes what a connection receives to its parser in slices of 1 KiB, and rests after each slice that cost much. What
 * costs nothing passes without a pause. Node gives up its shorter way, on which the parser reads the connection itself,
 * as soon as somebody listens to `data`.
 */
export function readInSlices(socket: Socket, { costMs, rest }: SliceOptions): void {
  const pass = socket.push.bind(socket);
  /** Received, but not passed on; null is the end. */
  let waiting: (Buffer | null)[] = [];
  let isResting = false;
  const mayPass = () => !isResting && !socket.isPaused();

  socket.push = (chunk: Buffer | null) => {
    waiting.push(chunk);
    return passOn();
  };
  socket.on('resume', passOn);
  socket.on('data', () => undefined);

  /** Returns whether the connection may be read further. */
  function passOn(): boolean {
    while (mayPass()) {
      const chunk = waiting.shift();
      if (chunk === undefined) return true;
      if (chunk === null) pass(null);
      else if (chunk.length <= sliceBytes) passSlice(chunk);
      else {
        waiting.unshift(chunk.subarray(sliceBytes));
        passSlice(chunk.subarray(0, sliceBytes));
      }
      if (socket.destroyed) waiting = [];
    }
    return false;
  }

  function passSlice(slice: Buffer): void {
    const before = costMs();
    pass(slice);
    const ms = costMs() - before;
    if (ms > sliceMsMax) void restAfter(ms);
  }

  async function restAfter(ms: number): Promise<void> {
    isResting = true;
    await rest(ms).catch(() => socket.destroy());
    isResting = false;
    // Node stopped to read when it was told that nothing passes.
    if (!socket.destroyed && passOn()) socket.read(0);
  }
}
