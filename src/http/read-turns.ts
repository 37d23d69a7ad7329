import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { networkOf } from '../lib/network-of.ts';
import { isStoppedByNode, readInSlices } from './read-in-slices.ts';

/** What the parser may cost in one turn of the event loop before other connections are not read any more. */
const turnMsMax = 5;
/** Connections that are read again in one turn. One of them takes 0.3 ms at most. */
const readAgainPerTurn = 32;
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
const unread = new WeakSet<Socket>();

/** Tells whether this process does not read the connection for a while, whatever its client sends. */
export const isUnread = (socket: Socket): boolean => unread.has(socket);

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
 * meanwhile. From then on these are read in slices. Some are read again in each turn of the event loop, in turn between
 * networks, and half of the time is left to all else. Shared by all callers of the process.
 */
export class ReadTurns {
  readonly #networks = new Map<Socket, string>();
  /** Connections whose reading is stopped, by network. */
  readonly #stopped = new Map<string, Set<Socket>>();
  readonly #sliced = new WeakSet<Socket>();
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
        if (socket.isPaused() && !this.#sliced.has(socket)) socket.emit('pause');
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
    if (before <= turnMsMax && this.#ms > turnMsMax) this.#stopOthers(socket);
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
    unread.add(socket);
    const network = this.#networks.get(socket) ?? '';
    const neighbors = this.#stopped.get(network);
    if (neighbors === undefined) this.#stopped.set(network, new Set([socket]));
    else neighbors.add(socket);
    if (!this.#isReleasing) void this.#release();
  }

  async #release(): Promise<void> {
    this.#isReleasing = true;
    while (this.#stopped.size > 0) {
      await nextTurn();
      const beganAtMs = performance.now();
      for (let count = 0; count < readAgainPerTurn; count++) {
        const next = this.#takeNext();
        if (next === undefined) break;
        this.#readAgain(next);
      }
      // Their bytes are read between this turn and the next.
      await nextTurn();
      if (this.#ms > turnMsMax) await delay(Math.min(performance.now() - beganAtMs, pauseMsMax));
    }
    this.#isReleasing = false;
  }

  /** Takes one connection of each network in turn. */
  #takeNext(): Socket | undefined {
    const [first] = this.#stopped;
    if (first === undefined) return undefined;
    const [network, sockets] = first;
    const [socket] = sockets;
    this.#stopped.delete(network);
    if (socket !== undefined) sockets.delete(socket);
    if (sockets.size > 0) this.#stopped.set(network, sockets);
    return socket;
  }

  /** Reads a connection again, in slices. */
  #readAgain(socket: Socket): void {
    unread.delete(socket);
    // Node reads it when its responses are read.
    if (isStoppedByNode(socket)) return;
    // After the listener of Node, which begins to read: it is removed with the first slice.
    if (!this.#sliced.has(socket)) socket.once('resume', () => this.#slice(socket));
    socket.resume();
  }

  #slice(socket: Socket): void {
    // Node has stopped it again, because its responses are not read.
    if (this.#sliced.has(socket) || socket.isPaused()) return;
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
    unread.add(socket);
    await this.#rests.run(network, () => delay(ms, undefined, gone), { waiter: gone });
    unread.delete(socket);
    socket.off('close', leave);
  }

  #forget(socket: Socket): void {
    const network = this.#networks.get(socket) ?? '';
    this.#networks.delete(socket);
    const neighbors = this.#stopped.get(network);
    neighbors?.delete(socket);
    if (neighbors?.size === 0) this.#stopped.delete(network);
  }
}
