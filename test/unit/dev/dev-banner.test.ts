import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { banner } from '../../../dev/up/banner.ts';

const connection = {
  url: 'http://127.0.0.1:8787',
  workspace_id: 'ws_1',
  project_id: 'prj_1',
  api_key: 'ptm_dev_key',
  admin_key: 'admin-secret',
  database_url: 'postgres://u:db-secret@127.0.0.1:1/db',
  redis_url: 'redis://127.0.0.1:2',
  clickhouse_url: 'http://127.0.0.1:3',
  llm_base_url: 'http://127.0.0.1:8791/v1',
  pids: { api: 1, worker: 2, postgres: 3, redis: 4, clickhouse: 5 },
};

it('the banner’s curl, run by a shell, sends one OTLP span of this very second', () => {
  const line = banner(connection, '/logs')
    .split('\n')
    .find((candidate) => candidate.includes('/api/v1/traces'));
  // The shell's own `curl` prints its arguments instead of sending them.
  const printed = execFileSync('/bin/sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${line}`], { encoding: 'utf8' });
  const args = printed.trimEnd().split('\n');
  expect(args).toContain('X-API-Key: ptm_dev_key');
  expect(args).toContain('http://127.0.0.1:8787/api/v1/traces');
  const [span] = JSON.parse(args.at(-1) ?? '').resourceSpans[0].scopeSpans[0].spans;
  const startMs = Number(BigInt(span.startTimeUnixNano) / 1_000_000n);
  expect(Math.abs(Date.now() - startMs)).toBeLessThan(5_000);
  expect(BigInt(span.endTimeUnixNano)).toBeGreaterThan(BigInt(span.startTimeUnixNano));
  expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
});

it('the banner shows the project’s key and no other secret', () => {
  const text = banner(connection, '/logs');
  expect(text).toContain('OTEL_EXPORTER_OTLP_HEADERS=x-api-key=ptm_dev_key');
  expect(text).not.toMatch(/admin-secret|db-secret/);
});

it('the banner names the demo only if no real model would be called', () => {
  expect(banner(connection, '/logs')).toContain('npm run demo:optimize');
  const real = banner({ ...connection, llm_base_url: 'https://api.openai.com/v1' }, '/logs');
  expect(real).not.toContain('npm run demo:optimize');
  expect(real).toContain('api.openai.com');
});
