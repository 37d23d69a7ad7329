import pg from 'pg';
import type { Postgres } from './client.ts';

/** A change of something that processes cache in memory. */
export interface Change {
  topic: string;
  id: string;
}

interface Row {
  horizon: string;
  topic: string | null;
  subject_id: string;
  xid: string;
}

const connectTimeoutMs = 1_000;
const pageRowsMax = 1_000;

/**
 * Reads one page of changes from transactions that had not all ended at the last read, and the
 * oldest running transaction. Every lower transaction id is visible in this snapshot
 * (postgresql.org/docs/current/functions-info.html, pg_snapshot_xmin).
 */
const pageQuery = `
  select horizon, topic, subject_id, xid::text
  from (select pg_snapshot_xmin(pg_current_snapshot())::text as horizon) now
  left join lateral (
    select topic, subject_id, xid from changes
    where (xid, topic, subject_id) > ($1::xid8, $2, $3)
    order by xid, topic, subject_id
    limit ${pageRowsMax}
  ) page on true
  order by page.xid, topic, subject_id`;

/**
 * Reads each change since the last read exactly once. It uses its own connection, so that heavy use
 * of the pool cannot delay revocations. It needs no session state, so it works through PgBouncer.
 */
export class ChangeReader {
  readonly #databaseUrl: string;
  #client: pg.Client | undefined;
  /**
   * All transactions below it have been reported. Undefined before the first read and after
   * {@link reset}.
   */
  #horizon: bigint | undefined;
  /**
   * Changes at or above the horizon that were already reported. Empty while no transaction is
   * running.
   */
  #told = new Set<string>();

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  /**
   * Reads the new changes. Returns undefined when anything may have changed, because there was no
   * earlier read.
   * @throws an error when the database is unavailable
   */
  async read(): Promise<Change[] | undefined> {
    const client = await this.#connection();
    const since = this.#horizon;
    let cursor = [String(since ?? 0n), '', ''];
    const rows: Row[] = [];
    let horizon: bigint | undefined;
    for (let full = true; full; ) {
      const page = (await client.query<Row>(pageQuery, cursor)).rows;
      // Take the horizon of the first page: a commit during the later pages may have been missed.
      horizon ??= BigInt(page[0]?.horizon ?? 0);
      if (since === undefined) break;
      rows.push(...page.filter(({ topic }) => topic !== null));
      const last = page.at(-1);
      full = page.length === pageRowsMax && last !== undefined;
      if (last !== undefined) cursor = [last.xid, last.topic ?? '', last.subject_id];
    }
    return this.#advance(rows, since, horizon ?? 0n);
  }

  /** Drops the connection and the read position. */
  reset(): void {
    this.#client?.end().catch(() => undefined);
    this.#client = undefined;
    this.#horizon = undefined;
    this.#told.clear();
  }

  #advance(rows: readonly Row[], since: bigint | undefined, horizon: bigint): Change[] | undefined {
    const before = this.#told;
    this.#horizon = horizon;
    this.#told = new Set(rows.filter(({ xid }) => BigInt(xid) >= horizon).map(keyOf));
    // Transaction ids that decrease mean another server.
    if (since === undefined || horizon < since) return undefined;
    return rows.filter((row) => !before.has(keyOf(row))).map((row) => ({ topic: row.topic ?? '', id: row.subject_id }));
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

function keyOf({ xid, topic, subject_id: id }: Row): string {
  return `${xid} ${topic} ${id}`;
}

/**
 * Longer than any of our transactions. Processes read several times per second, and start over
 * after a failed read.
 */
const keptMs = 5 * 60_000;

/**
 * Deletes changes that every process has read and returns their number.
 * @throws UnavailableError
 */
export async function pruneChanges(postgres: Postgres): Promise<number> {
  const before = new Date(Date.now() - keptMs);
  return postgres('changes').where('at', '<', before).delete();
}
