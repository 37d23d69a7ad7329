import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { clusterUrl, hasClusterSettings } from '../../src/lib/cluster-settings.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { requireTopology, TopologyError } from '../../src/stores/clickhouse/require-topology.ts';

const url = inject('clickhouseUrl');
const isSharded = hasClusterSettings(url);
/** The same tables, as one who forgets `CLICKHOUSE_SHARD_URLS`, or sets it for one server, names them. */
const wrongUrl = isSharded ? withoutSettings(url) : clusterUrl(url);

describe('the tables of a service', () => {
  let clickhouse: ClickHouse;
  beforeAll(() => {
    clickhouse = connectClickHouse(url);
  });
  afterAll(() => clickhouse.close());

  it('are accepted with the variables that they were made with', async () => {
    await expect(requireTopology(clickhouse, url)).resolves.toBeUndefined();
  });

  it('are refused with other variables, with what to change', async () => {
    const refused = requireTopology(clickhouse, wrongUrl);
    await expect(refused).rejects.toThrow(TopologyError);
    await expect(refused).rejects.toThrow('CLICKHOUSE_SHARD_URLS');
  });

  it.runIf(isSharded)('are refused behind a proxy that drops the settings of each statement', async () => {
    const dropping = connectClickHouse(withoutSettings(url));
    await expect(requireTopology(dropping, url)).rejects.toThrow(/ = .* instead of .* A proxy/);
    await dropping.close();
  });
});

describe('a database without tables', () => {
  it('is accepted, because migrations may come later', async () => {
    const empty = connectClickHouse(withoutSettings(url).replace(/\/[^/?]*(\?|$)/, '/system$1'));
    await expect(requireTopology(empty, clusterUrl(url))).resolves.toBeUndefined();
    await empty.close();
  });
});

function withoutSettings(whole: string): string {
  const { origin, username, password, pathname } = new URL(whole);
  return Object.assign(new URL(pathname, origin), { username, password }).href;
}
