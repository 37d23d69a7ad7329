/**
 * Settings of every statement about `Distributed` tables
 * (https://clickhouse.com/docs/operations/settings/settings).
 */
export const clusterSettings = {
  // A trace is on one shard, so a subquery needs nothing of other shards.
  distributed_product_mode: 'local',
  // An insert is confirmed when the shards have stored the rows, not when another server has noted them.
  distributed_foreground_insert: 1,
  // A statement about traces asks only their shards.
  optimize_skip_unused_shards: 1,
  // A list without the executions of a shard must not look complete.
  skip_unavailable_shards: 0,
} as const;

/** Returns the URL of `Distributed` tables with the settings that they require. */
export function clusterUrl(url: string): string {
  const withSettings = new URL(url);
  for (const [name, value] of Object.entries(clusterSettings)) {
    withSettings.searchParams.set(`clickhouse_setting_${name}`, String(value));
  }
  return withSettings.href;
}

/** Tells whether a URL is one of {@link clusterUrl}. */
export function hasClusterSettings(url: string): boolean {
  const { searchParams } = new URL(url);
  return Object.keys(clusterSettings).every((name) => searchParams.has(`clickhouse_setting_${name}`));
}
