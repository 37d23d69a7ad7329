import type { Socket } from 'node:net';

/** Bytes of a slice. While slices cost nothing, they grow. One of chunks of one byte costs 0.24 ms, or 1.9 ms. */
const sliceBytes = { least: 1_024, most: 8_192 };
/** A slice that costs more is followed by a rest. */
const sliceMsMax = 0.1;

export interface SliceOptions {
  /** Milliseconds that all reading has cost until now. Only differences matter. */
  costMs: () => number;
  /**
   * Waits after a slice that cost so many milliseconds.
   * @throws when too many wait, or the client leaves
   */
  rest: (ms: number) => Promise<void>;
}

/**
 * Tells whether Node does not read a connection because its responses are not read. It must get no bytes then
 * (`socketOnData` in _http_server.js asserts that).
 */
export const isStoppedByNode = (socket: Socket & { _paused?: boolean }): boolean => socket._paused === true;

/**
 * Passes what a connection receives to its parser in slices, and rests after each slice that cost much. What
 * costs nothing passes without a pause. Node gives up its shorter way, on which the parser reads the connection itself,
 * as soon as somebody listens to `data`.
 */
export function readInSlices(socket: Socket, { costMs, rest }: SliceOptions): void {
  const pass = socket.push.bind(socket);
  /** Asks the operating system for more. `socket.read` would not, because Node knows of a read that has not ended. */
  const readMore = socket._read.bind(socket);
  /** Received, but not passed on; null is the end. */
  let waiting: (Buffer | null)[] = [];
  let bytes = sliceBytes.least;
  let isResting = false;
  let hasEnded = false;
  // After a CONNECT, nobody takes what is passed on.
  const mayPass = () =>
    !isResting &&
    !socket.isPaused() &&
    !isStoppedByNode(socket) &&
    socket.readableLength < socket.readableHighWaterMark;

  socket.push = (chunk: Buffer | null) => {
    waiting.push(chunk);
    return passOn();
  };
  // Node asks for more after each slice, because it does not know what waits.
  socket._read = (size) => {
    if (waiting.length === 0 && mayPass()) readMore(size);
  };
  socket.on('resume', goOn);
  socket.on('pause', stop);
  socket.on('data', () => undefined);

  /** Returns whether the connection may be read further. */
  function passOn(): boolean {
    while (mayPass()) {
      const chunk = waiting.shift();
      if (chunk === undefined) return true;
      if (chunk === null) {
        hasEnded = true;
        pass(null);
      } else if (chunk.length <= bytes) passSlice(chunk);
      else {
        const slice = chunk.subarray(0, bytes);
        waiting.unshift(chunk.subarray(bytes));
        passSlice(slice);
      }
      if (socket.destroyed) waiting = [];
    }
    return false;
  }

  function passSlice(slice: Buffer): void {
    const before = costMs();
    pass(slice);
    const ms = costMs() - before;
    const isCostly = ms > sliceMsMax;
    bytes = isCostly ? sliceBytes.least : Math.min(2 * bytes, sliceBytes.most);
    if (isCostly) void restAfter(ms);
  }

  async function restAfter(ms: number): Promise<void> {
    isResting = true;
    await rest(ms).catch(() => socket.destroy());
    isResting = false;
    goOn();
  }

  function goOn(): void {
    if (passOn() && !hasEnded && !socket.destroyed) readMore(0);
  }

  /** Node stops to read a connection in slices only after it has read more. */
  function stop(): void {
    const { _handle: handle } = socket as Socket & { _handle?: { reading: boolean; readStop(): void } | null };
    if (!handle?.reading) return;
    handle.reading = false;
    handle.readStop();
  }
}
