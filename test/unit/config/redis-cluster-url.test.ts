import { describe, expect, test } from 'vitest';
import { clusterOf } from '../../../src/stores/redis/cluster-url.ts';

describe('the URL of Redis', () => {
  test.each(['redis://:secret@localhost:6379/1', 'rediss://localhost'])('%s is that of one Redis', (url) => {
    expect(clusterOf(url)).toBeUndefined();
  });

  test('names the nodes of a cluster, which have one port and one login', () => {
    expect(clusterOf('redis+cluster://user:p%40ss@a.example,b.example:7000')).toEqual({
      nodes: [
        { host: 'a.example', port: 7000 },
        { host: 'b.example', port: 7000 },
      ],
      options: { username: 'user', password: 'p@ss' },
    });
  });

  test('names a cluster with TLS and the usual port', () => {
    expect(clusterOf('rediss+cluster://a.example')).toEqual({
      nodes: [{ host: 'a.example', port: 6379 }],
      options: { tls: {} },
    });
  });
});
