import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { environment, ownerUrl, readConfig } from '../../../src/config.ts';

const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
const lines = [...example.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value] as const);

test('.env.example has every variable of src/config.ts, and no other', () => {
  const names = [...Object.keys(environment.shape), ...Object.keys(ownerUrl)];
  expect(lines.map(([name]) => name).sort()).toEqual(names.sort());
});

test('the values of .env.example are the defaults', () => {
  const required = {
    DATABASE_URL: 'postgres://localhost/x',
    REDIS_URL: 'redis://localhost',
    CLICKHOUSE_URL: 'http://localhost:8123',
    ADMIN_API_KEY: 'a'.repeat(24),
    API_KEY_PEPPER: 'p'.repeat(24),
  };
  expect(readConfig({ ...Object.fromEntries(lines), ...required })).toEqual(readConfig(required));
});
