import pg from 'pg';
import type { Postgres } from './client.ts';
import { deleteInSlices } from './delete-in-slices.ts';

/** A change of something that processes cache in memory. */
export interface Change {
  topic: string;
  id: string;
}

interface Row {
  snapshot: string;
  at_ms: number;
  topic: string | null;
  subject_id: string;
  xid: string;
}

const connectTimeoutMs = 1_000;
const pageRowsMax = 1_000;

/**
 * Reads one page of the changes of transactions that $5, the snapshot of this read, sees and $1, that of the last read,
 * did not see. The first page has no $5 and takes its own snapshot. All changes of a transaction become visible together
 * (postgresql.org/docs/current/functions-info.html, pg_visible_in_snapshot).
 */
const pageQuery = `
  select snapshot::text, extract(epoch from clock_timestamp())::float8 * 1000 as at_ms, topic, subject_id, xid::text
  from (select coalesce($5::pg_snapshot, pg_current_snapshot()) as snapshot) now
  left join lateral (
    select topic, subject_id, xid from changes
    where (xid, topic, subject_id) > ($2::xid8, $3, $4)
      and not pg_visible_in_snapshot(xid, $1::pg_snapshot)
      and pg_visible_in_snapshot(xid, snapshot)
    order by xid, topic, subject_id
    limit ${pageRowsMax}
  ) page on true
  order by page.xid, topic, subject_id`;

/**
 * Longer than any of our transactions. Processes read several times per second, and start over
 * after a failed read.
 */
const keptMs = 5 * 60_000;

/** A snapshot that sees no transaction. */
const beforeAll = '1:1:';

/**
 * Reads each change since the last read exactly once. It uses its own connection, so that heavy use
 * of the pool cannot delay revocations. It needs no session state, so it works through PgBouncer.
 */
export class ChangeReader {
  readonly #databaseUrl: string;
  #client: pg.Client | undefined;
  /**
   * Everything that it sees has been reported, as `pg_snapshot`. Undefined before the first read and after
   * {@link reset}.
   */
  #reported: string | undefined;
  /** The time of the last read by the clock of Postgres: that of a paused process stands still. */
  #readAtMs = 0;
  readonly #pauseMsMax: number;

  /** @param options.pauseMsMax after a longer time without a read, changes may be deleted that it has not read */
  constructor(databaseUrl: string, { pauseMsMax = keptMs / 2 } = {}) {
    this.#databaseUrl = databaseUrl;
    this.#pauseMsMax = pauseMsMax;
  }

  /**
   * Reads the new changes. Returns undefined when anything may have changed, because there was no
   * earlier read, or the last one is too long ago.
   * @throws an error when the database is unavailable
   */
  async read(): Promise<Change[] | undefined> {
    const client = await this.#connection();
    const since = this.#reported;
    let cursor = [String(oldestRunning(since ?? beforeAll)), '', ''];
    const changes: Change[] = [];
    let snapshot: string | undefined;
    let atMs = 0;
    for (let full = since !== undefined; full || snapshot === undefined; ) {
      const page: Row[] = (await client.query<Row>(pageQuery, [since ?? beforeAll, ...cursor, snapshot])).rows;
      snapshot ??= page[0]?.snapshot ?? beforeAll;
      atMs = page[0]?.at_ms ?? 0;
      for (const { topic, subject_id: id } of page) if (topic !== null) changes.push({ topic, id });
      const last = page.at(-1);
      full = full && page.length === pageRowsMax && last !== undefined;
      if (last !== undefined) cursor = [last.xid, last.topic ?? '', last.subject_id];
    }
    const pauseMs = atMs - this.#readAtMs;
    this.#reported = snapshot;
    this.#readAtMs = atMs;
    // Transaction ids that decrease mean another server.
    const isKnown =
      since !== undefined && oldestRunning(snapshot) >= oldestRunning(since) && pauseMs <= this.#pauseMsMax;
    return isKnown ? changes : undefined;
  }

  /** Drops the connection and the read position. */
  reset(): void {
    this.#client?.end().catch(() => undefined);
    this.#client = undefined;
    this.#reported = undefined;
  }

  async #connection(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    const client = new pg.Client({
      connectionString: this.#databaseUrl,
      application_name: 'promptlane',
      connectionTimeoutMillis: connectTimeoutMs,
    });
    client.on('error', () => undefined); // The next read fails and reports the error.
    this.#client = client;
    await client.connect();
    return client;
  }
}

/** Returns the oldest transaction that was running at a snapshot, which is written `xmin:xmax:running`. */
function oldestRunning(snapshot: string): bigint {
  return BigInt(snapshot.slice(0, snapshot.indexOf(':')));
}

/**
 * Deletes changes that every process has read and returns their number.
 * @throws UnavailableError
 */
export async function pruneChanges(postgres: Postgres): Promise<void> {
  const before = postgres.raw("clock_timestamp() - ? * interval '1 millisecond'", [keptMs]);
  const old = postgres('changes').where('at', '<', before).orderBy('at').limit(prunedAtOnce).select('ctid');
  await deleteInSlices(prunedAtOnce, () => postgres('changes').whereIn('ctid', old.clone()).delete());
}

/** Changes that one statement deletes. An import makes fifty thousand. */
const prunedAtOnce = 10_000;
