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

export interface SpanBatcherOptions {
  /** Stores all entries; resolves with the errors of those that could not be stored, once the others are confirmed. */
  write: (entries: readonly BatchEntry[]) => Promise<ReadonlyMap<BatchEntry, unknown>>;
  rowsMax: number;
  bytesMax: number;
  entriesMax: number;
  waitMsMax: number;
  /** A batch that has this many rows by then goes on filling until `patientWaitMsMax`. */
  patientRowsMin: number;
  patientWaitMsMax: number;
  writesMax: number;
}

/**
 * Collects the rows of many jobs into few inserts: what arrives while they are under way makes the next one larger, so batches grow
 * with the load. {@link add} resolves once the job's own rows are stored.
 */
export class SpanBatcher {
  readonly #options: SpanBatcherOptions;
  #pending: Pending[] = [];
  #rows = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing = 0;
  #due = false;

  constructor(options: SpanBatcherOptions) {
    this.#options = options;
  }

  /** Rejects with the reason why just this entry could not be stored. */
  add(entry: BatchEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ entry, resolve, reject });
      this.#rows += entry.encoded.spanCount;
      this.#bytes += entry.encoded.rows.bytes.length;
      this.#timer ??= setTimeout(() => this.#onWaited(), this.#options.waitMsMax);
      const { rowsMax, bytesMax, entriesMax } = this.#options;
      if (this.#rows >= rowsMax || this.#bytes >= bytesMax || this.#pending.length >= entriesMax) this.flush();
    });
  }

  /** Writes what is pending now, or as soon as the write that is under way ends. */
  flush(): void {
    this.#due = this.#pending.length > 0;
    if (!this.#due || this.#writing >= this.#options.writesMax) return;
    clearTimeout(this.#timer);
    const batch = this.#pending;
    this.#pending = [];
    this.#rows = 0;
    this.#bytes = 0;
    this.#timer = undefined;
    this.#due = false;
    void this.#write(batch);
  }

  /** Rows that come fast fill a larger batch, which costs the engine less a row; at a trickle nobody waits longer. */
  #onWaited(): void {
    const { waitMsMax, patientRowsMin, patientWaitMsMax } = this.#options;
    if (this.#rows < patientRowsMin) this.flush();
    else this.#timer = setTimeout(() => this.flush(), patientWaitMsMax - waitMsMax);
  }

  async #write(batch: readonly Pending[]): Promise<void> {
    this.#writing++;
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
      if (this.#due) this.flush();
    }
  }
}
