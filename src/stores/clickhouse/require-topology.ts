import { setTimeout as delay } from 'node:timers/promises';
import { clusterSettings, hasClusterSettings } from '../../lib/cluster-settings.ts';
import type { ClickHouse } from './client.ts';
import { readRows } from './statements.ts';

/** A server of ClickHouse is not set up as the variables say. The message tells what to change. */
export class TopologyError extends Error {}

/**
 * Requires that the tables are as the URL of statements says, and that its settings have an effect: a proxy may leave
 * them out, and then `Distributed` tables acknowledge rows that no shard has stored. Tables that are not there yet are
 * not judged.
 * @throws TopologyError with what to change
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function requireTopology(clickhouse: ClickHouse, url: string): Promise<void> {
  const isSharded = hasClusterSettings(url);
  const [found] = await readRows<{ engines: string[]; values: Record<string, string> }>(clickhouse, {
    query: `SELECT (SELECT groupArray(engine) FROM system.tables
                    WHERE database = currentDatabase() AND name = 'spans') AS engines,
              (SELECT groupArray((name, value))::Map(String, String) FROM system.settings
               WHERE has(splitByChar(',', {names:String}), name)) AS values`,
    query_params: { names: Object.keys(clusterSettings).join(',') },
    format: 'JSONEachRow',
  });
  const { engines = [], values = {} } = found ?? {};
  const [engine] = engines;
  if (engine === undefined) return;
  if (isSharded !== (engine === 'Distributed')) {
    throw new TopologyError(
      engine === 'Distributed'
        ? 'The tables in CLICKHOUSE_URL are Distributed, and CLICKHOUSE_SHARD_URLS is missing. Set it to the URLs of all shards'
        : `CLICKHOUSE_SHARD_URLS is set, but the tables in CLICKHOUSE_URL are not Distributed (${engine}). Run the migrations with ` +
            'the same variables, or remove CLICKHOUSE_SHARD_URLS',
    );
  }
  if (!isSharded) return;
  for (const [name, value] of Object.entries(clusterSettings)) {
    if (values[name] === String(value)) continue;
    throw new TopologyError(
      `ClickHouse runs statements with ${name} = ${values[name] ?? 'nothing'} instead of ${value}. A proxy, or the profile ` +
        'of the user in CLICKHOUSE_URL, must let this setting pass',
    );
  }
}

const firstAnswerMsMax = 1_000;
const againMs = 1_000;

/**
 * Ends the process with code 1 if {@link requireTopology} finds a fault, after it has printed what to change. Resolves
 * when there is none, or after a second: while ClickHouse gives no answer, a process starts, and asks again.
 */
export async function endOnWrongTopology(clickhouse: ClickHouse, url: string): Promise<void> {
  await Promise.race([untilAnswered(clickhouse, url), delay(firstAnswerMsMax)]);
}

async function untilAnswered(clickhouse: ClickHouse, url: string): Promise<void> {
  try {
    await requireTopology(clickhouse, url);
  } catch (error) {
    if (error instanceof TopologyError) {
      console.error(error.message);
      process.exit(1);
    }
    await delay(againMs, undefined, { ref: false });
    await untilAnswered(clickhouse, url);
  }
}
