import type { ConnectionOptions } from 'node:tls';

/** A Redis Cluster: some of its nodes, from which the client learns the others, and how to log in. */
export interface RedisCluster {
  nodes: readonly { host: string; port: number }[];
  options: { username?: string; password?: string; tls?: ConnectionOptions };
}

const portDefault = 6379;

/**
 * Parses `redis+cluster://[user]:[password]@host,host,host:port`. All hosts have the same port;
 * `rediss+cluster` uses TLS. Returns undefined for the URL of one Redis.
 */
export function clusterOf(redisUrl: string): RedisCluster | undefined {
  const { protocol, hostname, port, username, password } = new URL(redisUrl);
  if (!protocol.endsWith('+cluster:')) return undefined;
  return {
    nodes: hostname.split(',').map((host) => ({ host, port: Number(port) || portDefault })),
    options: {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss+cluster:' && { tls: {} }),
    },
  };
}
