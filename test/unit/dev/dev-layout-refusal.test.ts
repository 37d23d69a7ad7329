import { expect, test } from 'vitest';
import { startOver } from '../../../dev/up/layout-refusal.ts';

const config = {
  host: '127.0.0.1',
  port: 8787,
  dataDir: '/home/a b/.data',
  url: 'http://127.0.0.1:8787',
  llmBaseUrl: 'http://127.0.0.1:8791/v1',
};

test.each([
  ['all engines are its own', {}, "run: cd '/home/a b/.data' && rm -r postgres redis clickhouse"],
  [
    'Postgres runs elsewhere',
    { postgres: 'postgres://elsewhere/db' },
    "set DATABASE_URL to an empty database and run: cd '/home/a b/.data' && rm -r redis clickhouse",
  ],
  [
    'all engines run elsewhere',
    { postgres: 'postgres://elsewhere/db', redis: 'redis://elsewhere', clickhouse: 'http://elsewhere' },
    'set DATABASE_URL to an empty database and set CLICKHOUSE_URL to an empty database',
  ],
])('where %s, up says how to empty what it stores', (_, externalUrls, told) => {
  expect(startOver({ ...config, externalUrls })).toBe(told);
});
