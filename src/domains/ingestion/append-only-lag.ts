import { infoFields } from '../../queue/redis-info.ts';

/** Redis itself writes after two seconds; a body waits for its write for one at most, so beyond that none can be taken. */
const lagMsMax = 1_000;

/** Sees, from look to look, whether Redis gets its append-only file written. */
export class AppendOnlyLag {
  #sinceMs: number | undefined;
  #bytes: string | undefined;

  /** For how long the file has not grown although something waits to be written, in ms; undefined while that is no more than usual. */
  look(info: string, nowMs: number): number | undefined {
    const field = infoFields(info);
    const isWritten = field('aof_pending_bio_fsync') === '0' || field('aof_buffer_length') === '0';
    const bytes = field('aof_current_size');
    if (isWritten || bytes !== this.#bytes) this.#sinceMs = undefined;
    else this.#sinceMs ??= nowMs;
    this.#bytes = bytes;
    const lagMs = this.#sinceMs === undefined ? 0 : nowMs - this.#sinceMs;
    return lagMs > lagMsMax ? lagMs : undefined;
  }
}
