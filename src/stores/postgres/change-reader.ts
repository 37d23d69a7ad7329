import pg from 'pg';
import type { Postgres } from './client.ts';
import { runPostgres } from './errors.ts';

/** Something that processes hold in memory and that was changed. */
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
 * One page of the changes whose transactions had not all ended when the reader looked last, and the oldest transaction that runs now:
 * whatever has a lower id is visible in this snapshot (postgresql.org/docs/current/functions-info.html, pg_snapshot_xmin).
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
 * Reads what was changed since it read last, exactly once, over one connection of its own, so that no workspace's use of the pool keeps
 * revocations waiting. Needs no session: it works through PgBouncer.
 */
export class ChangeReader {
  readonly #databaseUrl: string;
  #client: pg.Client | undefined;
  /** Every transaction below it has been told. Undefined before the first read and after {@link reset}. */
  #horizon: bigint | undefined;
  /** Told already although at or above the horizon; empty while no transaction lasts. */
  #told = new Set<string>();

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  /** What was changed; undefined when anything may have been, because nothing was read before. Throws when the database is unavailable. */
  async read(): Promise<Change[] | undefined> {
    const client = await this.#connection();
    const since = this.#horizon;
    let cursor = [String(since ?? 0n), '', ''];
    const rows: Row[] = [];
    let horizon: bigint | undefined;
    for (let full = true; full; ) {
      const page = (await client.query<Row>(pageQuery, cursor)).rows;
      // Of the first page: what is committed while the next ones are read may have been passed over.
      horizon ??= BigInt(page[0]?.horizon ?? 0);
      if (since === undefined) break;
      rows.push(...page.filter(({ topic }) => topic !== null));
      const last = page.at(-1);
      full = page.length === pageRowsMax && last !== undefined;
      if (last !== undefined) cursor = [last.xid, last.topic ?? '', last.subject_id];
    }
    return this.#advance(rows, since, horizon ?? 0n);
  }

  /** Forgets the connection and how far it had read. */
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
    // Transaction ids that went backwards are those of another server.
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
    client.on('error', () => undefined); // The next read fails, and says so.
    this.#client = client;
    await client.connect();
    return client;
  }
}

function keyOf({ xid, topic, subject_id: id }: Row): string {
  return `${xid} ${topic} ${id}`;
}

/** Longer than any transaction of ours lasts: processes read several times a second, and start over when they could not. */
const keptMs = 5 * 60_000;

/** Forgets changes that every process has read; returns how many. Throws UnavailableError. */
export async function pruneChanges(postgres: Postgres): Promise<number> {
  const before = new Date(Date.now() - keptMs);
  return runPostgres(() => postgres('changes').where('at', '<', before).delete());
}
