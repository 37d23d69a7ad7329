import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../dev/ports.ts';
import type { RunningConnection } from '../support/connection.ts';
import { newDataDir, readConnection, runUp, type UpRun } from '../support/run-up.ts';
import { until } from '../support/until.ts';

const readyMs = 120_000;
const demoMs = 180_000;

const dataDir = newDataDir();
let up: UpRun;
let connection: RunningConnection;

beforeAll(async () => {
  const modelPort = await freePort();
  up = runUp(dataDir, await freePort(), { LLM_BASE_URL: `http://127.0.0.1:${modelPort}/v1` });
  connection = await until('connection.json exists', readyMs, () => readConnection(dataDir)).catch((error: Error) => {
    throw new Error(up.output(), { cause: error });
  });
}, readyMs + 5_000);
afterAll(async () => {
  up.process.kill('SIGTERM');
  await up.exitCode;
  rmSync(dataDir, { recursive: true, force: true });
}, 60_000);

/** Runs the command of README.md. */
async function runDemo(directory = dataDir): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['dev/demo-optimize.mjs'], { env: { ...process.env, DATA_DIR: directory } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

/** Calls the service as the printed command does. */
async function runPrinted(command: string): Promise<unknown> {
  const [, url = '', key = ''] = /^curl -s '(.*?)' -H 'X-API-Key: (.*)'$/.exec(command) ?? [];
  const response = await fetch(url, { headers: { 'X-API-Key': key } });
  expect(response.status, command).toBe(200);
  return response.json();
}

describe('npm run demo:optimize', () => {
  test(
    'beside up alone, improves a prompt from executions with feedback, and prints how much, how, and where',
    async () => {
      const { code, output } = await runDemo();
      expect(code, output).toBe(0);
      expect(output).toMatch(/^improved \(/m);
      const [, low = ''] = /^ {2}difference +[\d.]+ +\[([\d.-]+), [\d.-]+\]$/m.exec(output) ?? [];
      expect(Number(low), output).toBeGreaterThan(0);
      expect(output).toMatch(/^search +\d+ calls +0\.\d+ USD +best score 0\.\d{3}$/m);
      expect(output).toMatch(/^\+Tickets that mention a lawyer go to legal\.$/m);
      const [version = ''] = /^curl -s .*\/versions\/2' .*$/m.exec(output) ?? [];
      expect(await runPrinted(version)).toMatchObject({
        ...{ version: 2, kind: 'optimization' },
        template: expect.stringContaining('Tickets that mention a lawyer go to legal.'),
      });
      const report = readFileSync(join(dataDir, 'optimization-report.html'), 'utf8');
      expect(report).toContain('The new prompt is better on rows that the search never saw.');
      // The service and the model must agree on what was called.
      const [, answered] = /answered (\d+) requests/.exec(output) ?? [];
      const called = [...output.matchAll(/ (\d+) calls {2}/g)].at(-1)?.[1];
      expect(called).toBe(answered);
    },
    demoMs,
  );

  test('while another program has the port of the model, ends with one line that names the port', async () => {
    const { port } = new URL(connection.llm_base_url);
    const other = createServer().listen(Number(port), '127.0.0.1');
    await until('the port is taken', 5_000, () => other.listening);
    const { code, output } = await runDemo();
    other.close();
    expect(code).toBe(1);
    expect(output.trim().split('\n')).toEqual([expect.stringContaining(`Port ${port} `)]);
  });

  test('without up, ends with one line that says to start it', async () => {
    const empty = newDataDir();
    const { code, output } = await runDemo(empty);
    rmSync(empty, { recursive: true });
    expect(code).toBe(1);
    expect(output.trim().split('\n')).toEqual([expect.stringContaining('Run npm run up in another terminal.')]);
  });
});
