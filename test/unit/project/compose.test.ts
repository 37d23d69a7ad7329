import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

test('DEFAULT_PLAN is `free` in docker-compose.yml too', () => {
  expect(compose).toMatch(/DEFAULT_PLAN: \$\{DEFAULT_PLAN:-free\}/);
});

test('every engine of docker-compose.yml asks for a password that has no default', () => {
  const urls = [...compose.matchAll(/_URL: (?:\$\{\w+:-)?(?:postgres|redis|http):\/\/(\S*?):\$\{(\w+):\?[^}]*\}@/g)];
  const passwords = urls.map(([, user, variable]) => `${user} ${variable}`);
  expect(passwords).toEqual([
    'promptlane_service POSTGRES_SERVICE_PASSWORD',
    ' REDIS_PASSWORD',
    'promptlane CLICKHOUSE_PASSWORD',
    'promptlane POSTGRES_PASSWORD',
  ]);
});

test('README names every variable that docker-compose.yml must be given', () => {
  const needed = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
  const exported = new Set([...readme.matchAll(/(\w+)=\.\.\./g)].map(([, name]) => name));
  expect(exported).toEqual(needed);
});

test('CLICKHOUSE_URL can name a database on shards, as CLICKHOUSE_SHARD_URLS requires', () => {
  expect(compose).toMatch(/CLICKHOUSE_URL: \$\{CLICKHOUSE_URL:-http:\/\/.*@clickhouse:8123\/promptlane\}\n/);
});
