import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane } from '../../lib/fair-lane.ts';
import type { Waiter } from '../../lib/fair-lane-options.ts';
import { FewPerTurn } from '../../lib/few-per-turn.ts';
import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { isActive } from './run.ts';
import { listRunEvents, type RunEvent, readEventMarks, type StoredEvent } from './run-event-store.ts';

interface RunRef {
  workspaceId: WorkspaceId;
  projectId: ProjectId;
  runId: string;
}

const pollMs = 500;
/** A silent connection is closed after a minute, here and in proxies. */
const heartbeatMsDefault = 15_000;
/** Events that a reader holds until its client has taken them. */
const perRead = { limit: 100, bytesMax: 64 * 1024 };
/** Events that are kept for all readers of a run. */
const keptMax = { limit: 300, bytesMax: 128 * 1024 };
/** Readers that are woken up before the process turns to other work. Each takes about 50 µs. */
const wokenAtOnceMax = 100;
/** Readers that go on in one turn after a read: each may write {@link perRead}, which takes a millisecond. */
const readersPerTurn = 10;

/**
 * Tells readers what happens to runs. One query per interval covers all followed runs of the process,
 * and new events of a run are read once for all its readers.
 */
export class RunFeed {
  readonly #postgres: Postgres;
  readonly #logger: Logger;
  readonly #followed = new Map<string, FollowedRun>();
  readonly #closing = new AbortController();
  readonly #heartbeatMs: number;
  /** Shared by all workspaces: the streams of one workspace have one connection to Postgres. The streams are bounded. */
  readonly #lane = new FairLane({
    ...{ name: 'reads of events', capacity: 3, perKey: 1 },
    ...{ waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY },
  });
  readonly #turns = new FewPerTurn(readersPerTurn);
  #isPolling = false;

  constructor({
    postgres,
    logger,
    heartbeatMs = heartbeatMsDefault,
  }: {
    postgres: Postgres;
    logger: Logger;
    heartbeatMs?: number;
  }) {
    this.#postgres = postgres;
    this.#logger = logger;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Number of runs that someone follows. */
  get followed(): number {
    return this.#followed.size;
  }

  /**
   * Yields the events of a run after a number, and then as they happen, until the run has ended or was
   * deleted, the signal is aborted, or the feed is closed. Yields undefined when there was nothing to
   * tell for `heartbeatMs`, 15 s by default.
   */
  async *follow(ref: RunRef, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunEvent | undefined> {
    const run = this.#open(ref);
    const ending = AbortSignal.any([signal, this.#closing.signal]);
    try {
      await run.wait(this.#heartbeatMs, ending, () => run.seq !== undefined || run.isGone);
      let sent = afterSeq > (run.seq ?? 0) ? await this.#knownOrStart(ref, afterSeq) : afterSeq;
      while (!ending.aborted) {
        const events = await this.#eventsAfter(run, sent);
        for (const event of events) {
          yield event;
          sent = event.seq;
        }
        if (events.length > 0) continue;
        if (run.isGone || (run.isOver && sent >= (run.seq ?? 0))) return;
        const isNews = await run.wait(
          this.#heartbeatMs,
          ending,
          () => (run.seq ?? 0) > sent || run.isOver || run.isGone,
        );
        if (!isNews && !ending.aborted) yield undefined;
      }
    } finally {
      run.readers--;
      if (run.readers === 0) this.#followed.delete(ref.runId);
    }
  }

  /** Runs a read of Postgres for a stream in turn with those of the other streams. The streams must be bounded. */
  inTurn<T>(workspaceId: WorkspaceId, read: () => Promise<T>, waiter?: Waiter): Promise<T> {
    return this.#lane.run(workspaceId, read, { waiter });
  }

  /** Returns a number that the last look has not seen, or 0 if the run has no such event. */
  async #knownOrStart(ref: RunRef, seq: number): Promise<number> {
    const [mark] = await this.inTurn(ref.workspaceId, () => readEventMarks(this.#postgres, [ref]));
    return mark !== undefined && mark.seq >= seq ? seq : 0;
  }

  /** Ends all streams. */
  close(): void {
    this.#closing.abort();
  }

  #open(ref: RunRef): FollowedRun {
    const run = this.#followed.get(ref.runId) ?? new FollowedRun(ref);
    this.#followed.set(ref.runId, run);
    run.readers++;
    void this.#poll();
    return run;
  }

  async #eventsAfter(run: FollowedRun, seq: number): Promise<readonly RunEvent[]> {
    const read = () =>
      this.inTurn(run.ref.workspaceId, () => listRunEvents(this.#postgres, run.ref, { afterSeq: seq, ...perRead }));
    const kept = run.keptAfter(seq);
    if (kept !== undefined) return kept;
    const events = await run.readOnce(seq, read);
    // Very many readers may wait for the same result, and each then writes its events.
    return new Promise((resolve) => this.#turns.add(() => resolve(events)));
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    while (this.#followed.size > 0 && !this.#closing.signal.aborted) {
      try {
        await this.#readNews([...this.#followed.values()]);
      } catch (error) {
        this.#logger.warn({ err: error }, 'events of runs cannot be read at the moment');
      }
      await delay(pollMs, undefined, { ref: false });
    }
    this.#isPolling = false;
  }

  async #readNews(runs: readonly FollowedRun[]): Promise<void> {
    const marks = await readEventMarks(
      this.#postgres,
      runs.map(({ ref }) => ref),
    );
    const byRun = new Map(marks.map((mark) => [mark.runId, mark]));
    for (const run of runs) {
      const mark = byRun.get(run.ref.runId);
      if (mark === undefined) run.isGone = true;
      else {
        const isBehind = run.seq !== undefined && mark.seq > run.seq;
        if (isBehind) await this.#readEvents(run, run.seq ?? 0);
        else run.seq = mark.seq;
        run.isOver = !isActive(mark) && run.seq === mark.seq;
      }
      await run.tell();
    }
  }

  async #readEvents(run: FollowedRun, seq: number): Promise<void> {
    const events = await listRunEvents(this.#postgres, run.ref, { afterSeq: seq, ...keptMax });
    run.keep(events);
    run.seq = events.at(-1)?.seq ?? seq;
  }
}

/** A run that someone follows. */
class FollowedRun {
  readonly ref: RunRef;
  readers = 0;
  /** The number of its last event; undefined before the first look. */
  seq: number | undefined;
  isOver = false;
  isGone = false;
  readonly #kept: StoredEvent[] = [];
  #keptBytes = 0;
  readonly #waiting = new Set<() => void>();
  readonly #reads = new Map<number, Promise<readonly RunEvent[]>>();

  constructor(ref: RunRef) {
    this.ref = ref;
  }

  keep(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.#kept.push(event);
      this.#keptBytes += event.bytes;
    }
    while (this.#kept.length > keptMax.limit || this.#keptBytes > keptMax.bytesMax) {
      this.#keptBytes -= this.#kept.shift()?.bytes ?? 0;
    }
  }

  /** Returns the events after a number, or undefined if not all of them are kept. */
  keptAfter(seq: number): readonly RunEvent[] | undefined {
    if (this.seq !== undefined && seq >= this.seq) return [];
    const first = this.#kept[0];
    if (first === undefined || first.seq > seq + 1) return undefined;
    return this.#kept.filter((event) => event.seq > seq);
  }

  /** Reads the events after a number once for all who want them at the same time. */
  readOnce(seq: number, read: () => Promise<readonly RunEvent[]>): Promise<readonly RunEvent[]> {
    const reading = this.#reads.get(seq) ?? read().finally(() => this.#reads.delete(seq));
    this.#reads.set(seq, reading);
    return reading;
  }

  /** Wakes up everyone who waits. */
  async tell(): Promise<void> {
    let woken = 0;
    for (const wake of [...this.#waiting]) {
      wake();
      if (++woken % wokenAtOnceMax === 0) await nextTurn();
    }
  }

  /** Waits until a condition holds. Returns false after `ms`, or once the signal is aborted. */
  async wait(ms: number, signal: AbortSignal, condition: () => boolean): Promise<boolean> {
    if (condition()) return true;
    if (signal.aborted) return false;
    return new Promise((resolve) => {
      const end = (holds: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', stop);
        resolve(holds);
      };
      const wake = () => {
        if (condition()) end(true);
      };
      const stop = () => end(false);
      const timer = setTimeout(stop, ms);
      this.#waiting.add(wake);
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}
