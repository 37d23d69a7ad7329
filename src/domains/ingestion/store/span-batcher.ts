import type { EncodedBody } from './encode-body.ts';

export interface BatchEntry {
  jobId: string;
  receivedAtMs: number;
  projectId: string;
  workspaceId: string;
  encoded: EncodedBody;
}

interface Pending {
  entry: BatchEntry;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** What one workspace has pending. */
interface Share {
  workspaceId: string;
  entries: Pending[];
  rows: number;
  bytes: number;
  /** Whether it has waited long enough. */
  due: boolean;
  timer: NodeJS.Timeout | undefined;
}

export interface SpanBatcherOptions {
  /** Stores all entries; resolves with the errors of those that could not be stored, once the others are confirmed. */
  write: (entries: readonly BatchEntry[]) => Promise<ReadonlyMap<BatchEntry, unknown>>;
  /** A batch takes no further entry once it has so many rows; one entry may have more. */
  rowsMax: number;
  /** The same in encoded bytes. */
  bytesMax: number;
  /** So many entries are written without waiting for more. */
  entriesMax: number;
  waitMsMax: number;
  /** A workspace that has this many rows by then goes on filling until `patientWaitMsMax`. */
  patientRowsMin: number;
  patientWaitMsMax: number;
  /** An entry of more encoded bytes is written by itself, and at most one such at once: the other writes are left to the others. */
  togetherBytesMax: number;
  /** The same in rows, each of which may be a trace to be summed up. */
  togetherRowsMax: number;
  /** Writes under way at once. A workspace is in one of them at most, so one alone writes as if there were no other. */
  writesMax: number;
}

/**
 * Collects the rows of many jobs into few inserts: what arrives while they are under way makes the next one larger, so batches grow
 * with the load. Shared by all workspaces: a batch takes their entries in turn, and while that of one is being written, or tried
 * again and again, others use the next write. What is large is written alone, so that nobody who is small waits for it. {@link add}
 * resolves once the job's own rows are stored.
 */
export class SpanBatcher {
  readonly #options: SpanBatcherOptions;
  /** In the order in which they are served; a workspace whose entry was taken goes to the end. */
  readonly #shares = new Map<string, Share>();
  readonly #written = new Set<string>();
  #writing = 0;
  #writingAlone = false;

  constructor(options: SpanBatcherOptions) {
    this.#options = options;
  }

  /** Rejects with the reason why just this entry could not be stored. */
  add(entry: BatchEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      const share = this.#shareOf(entry.workspaceId);
      share.entries.push({ entry, resolve, reject });
      share.rows += entry.encoded.spanCount;
      share.bytes += entry.encoded.rows.bytes.length;
      share.timer ??= setTimeout(() => this.#onWaited(share), this.#options.waitMsMax);
      if (this.#isFull(this.#takeable())) this.#writeDue();
    });
  }

  /** Writes what is pending now, or as soon as the write that is under way ends. */
  flush(): void {
    for (const share of this.#shares.values()) share.due = true;
    this.#writeDue();
  }

  #shareOf(workspaceId: string): Share {
    const known = this.#shares.get(workspaceId);
    if (known !== undefined) return known;
    const share = { workspaceId, entries: [], rows: 0, bytes: 0, due: false, timer: undefined };
    this.#shares.set(workspaceId, share);
    return share;
  }

  /** Rows that come fast fill a larger batch, which costs the engine less a row; at a trickle nobody waits longer. */
  #onWaited(share: Share): void {
    const { waitMsMax, patientRowsMin, patientWaitMsMax } = this.#options;
    const end = () => {
      share.due = true;
      this.#writeDue();
    };
    if (share.rows < patientRowsMin) end();
    else share.timer = setTimeout(end, patientWaitMsMax - waitMsMax);
  }

  /** Those of no workspace that is being written, and of what is large only when nothing large is. */
  #takeable(): Share[] {
    return [...this.#shares.values()].filter(
      (share) => !this.#written.has(share.workspaceId) && !(this.#writingAlone && this.#isAlone(share)),
    );
  }

  /** Whether what the workspace writes next must be written by itself. */
  #isAlone({ entries: [next] }: Share): boolean {
    return next !== undefined && this.#isLarge(next);
  }

  #isLarge({ entry }: Pending): boolean {
    const { togetherBytesMax, togetherRowsMax } = this.#options;
    return entry.encoded.rows.bytes.length > togetherBytesMax || entry.encoded.spanCount > togetherRowsMax;
  }

  #isFull(shares: readonly Share[]): boolean {
    const { rowsMax, bytesMax, entriesMax } = this.#options;
    const total = (of: (share: Share) => number) => shares.reduce((sum, share) => sum + of(share), 0);
    return (
      total(({ rows }) => rows) >= rowsMax ||
      total(({ bytes }) => bytes) >= bytesMax ||
      total(({ entries }) => entries.length) >= entriesMax
    );
  }

  #writeDue(): void {
    while (this.#writing < this.#options.writesMax) {
      const takeable = this.#takeable();
      if (this.#isFull(takeable)) for (const share of takeable) share.due = true;
      const next = takeable.find(({ due }) => due);
      if (next === undefined) return;
      void this.#write(this.#isAlone(next) ? this.#takeAlone(next) : this.#takeTogether(takeable));
    }
  }

  #takeAlone(share: Share): Pending[] {
    const next = this.#takeFirst(share);
    return next === undefined ? [] : [next];
  }

  /** Who fills a batch of its own goes on with it; everybody else comes along. */
  #takeTogether(shares: readonly Share[]): Pending[] {
    return this.#take(shares.filter(({ due, rows }) => due || rows < this.#options.patientRowsMin));
  }

  /** One entry of each in turn until the batch is full. */
  #take(shares: readonly Share[]): Pending[] {
    const { rowsMax, bytesMax } = this.#options;
    const batch: Pending[] = [];
    let [rows, bytes] = [0, 0];
    const isLeft = (share: Share) => share.entries.length > 0 && !this.#isAlone(share);
    for (let left = shares.filter(isLeft); left.length > 0; left = left.filter(isLeft)) {
      for (const share of left) {
        if (rows >= rowsMax || bytes >= bytesMax) return batch;
        const next = this.#takeFirst(share);
        if (next === undefined) continue;
        batch.push(next);
        rows += next.entry.encoded.spanCount;
        bytes += next.entry.encoded.rows.bytes.length;
      }
    }
    return batch;
  }

  #takeFirst(share: Share): Pending | undefined {
    const first = share.entries.shift();
    this.#shares.delete(share.workspaceId);
    if (first === undefined) return undefined;
    share.rows -= first.entry.encoded.spanCount;
    share.bytes -= first.entry.encoded.rows.bytes.length;
    if (share.entries.length > 0) this.#shares.set(share.workspaceId, share);
    else clearTimeout(share.timer);
    return first;
  }

  async #write(batch: readonly Pending[]): Promise<void> {
    const workspaceIds = new Set(batch.map(({ entry }) => entry.workspaceId));
    for (const id of workspaceIds) this.#written.add(id);
    this.#writing++;
    const isAlone = batch.some((pending) => this.#isLarge(pending));
    if (isAlone) this.#writingAlone = true;
    try {
      const errors = await this.#options.write(batch.map(({ entry }) => entry));
      for (const { entry, resolve, reject } of batch) {
        if (errors.has(entry)) reject(errors.get(entry));
        else resolve();
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#writing--;
      if (isAlone) this.#writingAlone = false;
      for (const id of workspaceIds) this.#written.delete(id);
      this.#writeDue();
    }
  }
}
