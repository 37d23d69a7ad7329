import type { EncodedBody } from './encode-body.ts';
import type { WriteSlots } from './write-slots.ts';

export interface BatchEntry {
  jobId: string;
  receivedAtMs: number;
  projectId: string;
  workspaceId: string;
  encoded: EncodedBody;
  /** Whether log records are joined with its spans after they are stored, which takes several times as long. */
  isJoined?: boolean;
  /** Whether a worker has begun to store it before. It may have been killed after it had joined log records with spans. */
  isRepeated?: boolean;
}

interface Pending {
  entry: BatchEntry;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The pending entries of one workspace. */
interface Share {
  workspaceId: string;
  entries: Pending[];
  rows: number;
  bytes: number;
  /** Whether any of its entries is joined. */
  isJoined: boolean;
  /** Whether it has waited long enough. */
  due: boolean;
  timer: NodeJS.Timeout | undefined;
}

export interface SpanBatcherOptions {
  /**
   * Stores all entries. Resolves, once the others are confirmed, with the errors of the entries
   * that could not be stored.
   */
  write: (entries: readonly BatchEntry[]) => Promise<ReadonlyMap<BatchEntry, unknown>>;
  /** A batch takes no further entry once it has this many rows; a single entry may have more. */
  rowsMax: number;
  /** The same in encoded bytes. */
  bytesMax: number;
  /** This many entries are written without waiting for more. */
  entriesMax: number;
  waitMsMax: number;
  /** A workspace with this many rows after `waitMsMax` goes on filling until `patientWaitMsMax`. */
  patientRowsMin: number;
  patientWaitMsMax: number;
  /**
   * A larger entry, in encoded bytes, is written alone. At most one such write runs at once, so
   * that the other writes remain for other entries.
   */
  togetherBytesMax: number;
  /** The same in rows, because each row may be a trace to summarize. */
  togetherRowsMax: number;
  /** A workspace with more rows than this waiting, which are joined, is written apart from those with fewer. */
  joinedRowsFew: number;
  /**
   * Writes of each kind under way at once. A workspace is in at most one write, so a workspace without
   * others has one at a time.
   */
  slots: Readonly<Record<WriteKind, WriteSlots>>;
}

/** What is written together: rows that are only stored, and those that are joined, by workspaces with few or many. */
export type WriteKind = 'stored' | 'fewJoined' | 'manyJoined';

/**
 * Collects the rows of many jobs into few inserts. Entries that arrive during a write enlarge the
 * next batch, so batches grow with the load. Shared by all workspaces: a batch takes their entries
 * in turn. While a write of one workspace is under way or retried, others use the next write. A
 * large entry is written alone, so that no small one waits for it. Workspaces whose entries are joined
 * with log records are written apart from the others, and those with few rows apart from those with
 * many or a large entry. {@link add} resolves once the job's rows are stored.
 */
export class SpanBatcher {
  readonly #options: SpanBatcherOptions;
  /** In the order of service. A workspace goes to the end when one of its entries is taken. */
  readonly #shares = new Map<string, Share>();
  readonly #written = new Set<string>();
  #writingAlone = false;

  constructor(options: SpanBatcherOptions) {
    this.#options = options;
    for (const slots of Object.values(options.slots)) slots.listen(this.#writeDue);
  }

  /**
   * Adds an entry. Resolves once it is stored; rejects with the reason why this entry was not
   * stored.
   */
  add(entry: BatchEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      const share = this.#shareOf(entry.workspaceId);
      share.entries.push({ entry, resolve, reject });
      share.rows += entry.encoded.spanCount;
      share.bytes += entry.encoded.rows.bytes.length;
      share.isJoined ||= entry.isJoined === true;
      share.timer ??= setTimeout(() => this.#onWaited(share), this.#options.waitMsMax);
      if (this.#isFull(this.#takeable())) this.#writeDue();
    });
  }

  /** Writes all pending entries now, or as soon as a write ends. */
  flush(): void {
    for (const share of this.#shares.values()) share.due = true;
    this.#writeDue();
  }

  #shareOf(workspaceId: string): Share {
    const known = this.#shares.get(workspaceId);
    if (known !== undefined) return known;
    const share = { workspaceId, entries: [], rows: 0, bytes: 0, isJoined: false, due: false, timer: undefined };
    this.#shares.set(workspaceId, share);
    return share;
  }

  /**
   * Waits longer for a larger batch when rows come fast: it costs ClickHouse less per row. When few
   * rows come, nobody waits longer.
   */
  #onWaited(share: Share): void {
    const { waitMsMax, patientRowsMin, patientWaitMsMax } = this.#options;
    const end = () => {
      share.due = true;
      this.#writeDue();
    };
    if (share.rows < patientRowsMin) end();
    else share.timer = setTimeout(end, patientWaitMsMax - waitMsMax);
  }

  /**
   * Returns the workspaces without a write under way. One whose next entry is large is left out
   * while another large entry is being written, and one of whose kind there may be no further write.
   */
  #takeable(): Share[] {
    return [...this.#shares.values()].filter(
      (share) =>
        !this.#written.has(share.workspaceId) &&
        !(this.#writingAlone && this.#isAlone(share)) &&
        this.#options.slots[this.#kindOf(share)].isFree,
    );
  }

  #kindOf(share: Share): WriteKind {
    if (!share.isJoined) return 'stored';
    return share.rows > this.#options.joinedRowsFew || this.#isAlone(share) ? 'manyJoined' : 'fewJoined';
  }

  /** Tells whether the next entry of the workspace must be written alone. */
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

  readonly #writeDue = (): void => {
    for (;;) {
      const takeable = this.#takeable();
      if (this.#isFull(takeable)) for (const share of takeable) share.due = true;
      const next = takeable.find(({ due }) => due);
      if (next === undefined) return;
      const kind = this.#kindOf(next);
      const alike = takeable.filter((share) => this.#kindOf(share) === kind);
      void this.#write(this.#isAlone(next) ? this.#takeAlone(next) : this.#takeTogether(alike), kind);
    }
  };

  #takeAlone(share: Share): Pending[] {
    const next = this.#takeFirst(share);
    return next === undefined ? [] : [next];
  }

  /** Takes entries of all given workspaces, except of those that still fill a larger batch. */
  #takeTogether(shares: readonly Share[]): Pending[] {
    return this.#take(shares.filter(({ due, rows }) => due || rows < this.#options.patientRowsMin));
  }

  /** Takes one entry of each workspace in turn until the batch is full. */
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

  async #write(batch: readonly Pending[], kind: WriteKind): Promise<void> {
    const workspaceIds = new Set(batch.map(({ entry }) => entry.workspaceId));
    for (const id of workspaceIds) this.#written.add(id);
    const slots = this.#options.slots[kind];
    slots.take();
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
      if (isAlone) this.#writingAlone = false;
      for (const id of workspaceIds) this.#written.delete(id);
      slots.release(this.#writeDue);
    }
  }
}
