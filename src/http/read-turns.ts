import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { networkOf } from '../lib/network-of.ts';
import { isStoppedByNode, readInSlices } from './read-in-slices.ts';

/** What the parser may cost in one turn of the event loop before other connections are not read any more. */
const turnMsMax = 5;
/** Connections that are read again in one turn: one of them takes 2 ms at most. They become more while they cost little. */
const readAgain = { least: 32, most: 512 };
/** Then all else has the event loop for as long as the reading took, but at most so long. */
const pauseMsMax = 50;
/** A connection whose bytes cost much rests, so many times as long as the reading. */
const restPerReading = 6;
/**
 * Connections whose bytes cost much rest one after the other, in turn between networks. More than may wait are
 * disconnected.
 */
const rests = { name: 'costly reading', capacity: 1, perKey: 1, waitingPerKey: 512, waitingMax: 4_096 };

const turnsOf = new WeakMap<Socket, ReadTurns>();
type Stopped = Map<string, Set<Socket>>;

const stopped = new WeakSet<Socket>();
const resting = new WeakSet<Socket>();

/** Tells whether this process does not read the connection for a while, whatever its client sends. */
export const isUnread = (socket: Socket): boolean => stopped.has(socket) || resting.has(socket);

/** Notes what reading from a connection cost now, beyond what its bytes would cost. */
export function noteReadCost(socket: Socket, ms: number): void {
  turnsOf.get(socket)?.note(socket, ms);
}

/**
 * Reads connections in turn while their bytes take long to parse. Node reads 64 KiB of each connection that has
 * bytes, in one turn of the event loop. With chunks of one byte (RFC 9112, 7.1), these take 15 ms, so five hundred
 * connections would hold up all callers for seven seconds.
 *
 * Here the first such connection stops the reading of all others: libuv leaves out a connection that was stopped
 * meanwhile. From then on all of them are read in slices. Some are read again in each turn of the event loop, in turn
 * between networks, and half of the time is left to all else. Shared by all callers of the process.
 */
export class ReadTurns {
  readonly #networks = new Map<Socket, string>();
  /** Connections whose reading is stopped, by network: others, and those whose bytes cost much before. */
  readonly #stopped: Stopped = new Map();
  readonly #stoppedCostly: Stopped = new Map();
  readonly #costly = new WeakSet<Socket>();
  readonly #sliced = new WeakSet<Socket>();
  /** They are read in slices as soon as Node reads them again. */
  readonly #toSlice = new WeakSet<Socket>();
  readonly #rests = new FairLane(rests);
  #ms = 0;
  #total = 0;
  #isReleasing = false;

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#networks.set(socket, networkOf(socket.remoteAddress));
      turnsOf.set(socket, this);
      socket.once('close', () => this.#forget(socket));
      // Node begins to read in the next tick, also if the connection was stopped in this one.
      socket.on('resume', () => {
        if (this.#sliced.has(socket)) return;
        if (socket.isPaused()) socket.emit('pause');
        // After the listener of Node, which begins to read: it is removed with the first slice.
        else if (this.#toSlice.has(socket)) this.#slice(socket);
      });
      // It would be read whole, as those before it were.
      if (this.#isReleasing) this.#stop(socket);
    });
  }

  note(socket: Socket, ms: number): void {
    if (this.#ms === 0) setImmediate(() => this.#endTurn());
    const before = this.#ms;
    this.#ms += ms;
    this.#total += ms;
    if (before > turnMsMax || this.#ms <= turnMsMax) return;
    this.#toSlice.add(socket);
    this.#stopOthers(socket);
  }

  #endTurn(): void {
    this.#ms = 0;
  }

  #stopOthers(current: Socket): void {
    for (const socket of this.#networks.keys()) {
      // Node itself stops those whose responses are not read.
      if (socket !== current && !socket.isPaused()) this.#stop(socket);
    }
  }

  #stop(socket: Socket): void {
    socket.pause();
    stopped.add(socket);
    const network = this.#networks.get(socket) ?? '';
    const among = this.#costly.has(socket) ? this.#stoppedCostly : this.#stopped;
    const neighbors = among.get(network);
    if (neighbors === undefined) among.set(network, new Set([socket]));
    else neighbors.add(socket);
    if (!this.#isReleasing) void this.#release();
  }

  async #release(): Promise<void> {
    this.#isReleasing = true;
    let perTurn = readAgain.least;
    while (this.#stopped.size + this.#stoppedCostly.size > 0) {
      await nextTurn();
      const beganAtMs = performance.now();
      const wasCostly = await this.#readSome(this.#stopped, perTurn);
      // What is known to cost much must not stop the others before they were read.
      const isCostly = (await this.#readSome(this.#stoppedCostly, readAgain.least)) || wasCostly;
      perTurn = wasCostly ? readAgain.least : Math.min(2 * perTurn, readAgain.most);
      if (isCostly) await delay(Math.min(performance.now() - beganAtMs, pauseMsMax));
    }
    this.#isReleasing = false;
  }

  /** Reads some connections again. Resolves, after their bytes were read, to whether these cost much. */
  async #readSome(among: Stopped, count: number): Promise<boolean> {
    if (among.size === 0) return false;
    for (let left = count; left > 0; left--) {
      const next = takeNext(among);
      if (next === undefined) break;
      this.#readAgain(next);
    }
    // They are read between this turn and the next.
    await nextTurn();
    return this.#ms > turnMsMax;
  }

  /** Reads a connection again, in slices. */
  #readAgain(socket: Socket): void {
    stopped.delete(socket);
    this.#toSlice.add(socket);
    // Otherwise Node reads it when its responses are read.
    if (!isStoppedByNode(socket)) socket.resume();
  }

  #slice(socket: Socket): void {
    this.#sliced.add(socket);
    const network = this.#networks.get(socket) ?? '';
    readInSlices(socket, {
      costMs: () => this.#total,
      rest: (ms) => this.#rest(socket, network, restPerReading * ms),
    });
  }

  /** Ends at once when the client leaves. */
  async #rest(socket: Socket, network: string, ms: number): Promise<void> {
    const gone = new AbortController();
    const leave = () => gone.abort();
    socket.once('close', leave);
    this.#costly.add(socket);
    resting.add(socket);
    await this.#rests.run(network, () => delay(ms, undefined, gone), { waiter: gone });
    resting.delete(socket);
    socket.off('close', leave);
  }

  #forget(socket: Socket): void {
    const network = this.#networks.get(socket) ?? '';
    this.#networks.delete(socket);
    for (const among of [this.#stopped, this.#stoppedCostly]) {
      const neighbors = among.get(network);
      neighbors?.delete(socket);
      if (neighbors?.size === 0) among.delete(network);
    }
  }
}

/** Takes one connection of each network in turn. */
function takeNext(among: Stopped): Socket | undefined {
  const [first] = among;
  if (first === undefined) return undefined;
  const [network, sockets] = first;
  const [socket] = sockets;
  among.delete(network);
  if (socket !== undefined) sockets.delete(socket);
  if (sockets.size > 0) among.set(network, sockets);
  return socket;
}
