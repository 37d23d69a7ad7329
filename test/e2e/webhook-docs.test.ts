import { execFile, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../dev/ports.ts';
import { eventData } from '../../src/domains/events/event.ts';
import { newWebhookSecret } from '../../src/lib/webhook-secret.ts';
import { newProject } from '../support/api.ts';
import { until } from '../support/until.ts';
import {
  newWebhook,
  okIn,
  sendTest,
  startReceiver,
  startWebhookApi,
  untilDelivered,
  type WebhookApi,
} from '../support/webhooks.ts';

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
const hasPython = spawnSync('python3', ['--version']).status === 0;
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const snippet = (language: string) => page.match(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's'))?.[1] ?? '';

function signed(secret: string, text: string, at = new Date()) {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': `${new Webhook(newWebhookSecret()).sign('evt_1', at, text)} ${new Webhook(secret).sign('evt_1', at, text)}`,
  };
}

const text = JSON.stringify({ type: 'webhook.test', timestamp: '2026-01-31T08:00:00.000Z', data: { ü: 1 } });
const longAgo = new Date(Date.now() - 600_000);

/** Runs the receiver for Node. Returns its output so far. */
function runReceiver(secret: string, port: number): () => string {
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret, PORT: String(port) };
  // A module without a file finds its packages from the working directory.
  const args = ['--input-type=module', '--eval', snippet('js')];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  ends.push(() => child.kill());
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return () => output;
}

/** Runs the function for Python over cases of a secret, headers and a body. */
async function verifiedByPython(cases: readonly (readonly [string, object, string])[]): Promise<string> {
  const call = 'import json, sys\nprint([verify(s, h, b.encode()) for s, h, b in json.loads(sys.argv[1])])';
  const args = ['-c', `${snippet('python')}\n${call}`, JSON.stringify(cases)];
  const { stdout } = await promisify(execFile)('python3', args);
  return stdout.trim();
}

test('the receiver for Node accepts what is signed and refuses what is not', async () => {
  const [secret, port] = [newWebhookSecret(), await freePort()];
  const output = runReceiver(secret, port);
  const send = async (headers: Record<string, string>, body = text) =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status;
  await until('the receiver accepts', 10_000, async () => (await send(signed(secret, text))) === 204);
  expect(output()).toContain('evt_1 webhook.test');
  expect(await send(signed(newWebhookSecret(), text))).toBe(401);
  expect(await send(signed(secret, text), `${text} `)).toBe(401);
  expect(await send(signed(secret, text, longAgo))).toBe(401);
});

test.skipIf(!hasPython)('the function for Python accepts what is signed and refuses what is not', async () => {
  const secret = newWebhookSecret();
  const verified = await verifiedByPython([
    [secret, signed(secret, text), text],
    [newWebhookSecret(), signed(secret, text), text],
    [secret, signed(secret, text), `${text} `],
    [secret, signed(secret, text, longAgo), text],
  ]);
  expect(verified).toBe('[True, False, False, False]');
});

describe('what the service really sends', () => {
  let api: WebhookApi;
  let lane: ReturnType<WebhookApi['startLane']>;
  beforeAll(async () => {
    api = await startWebhookApi();
    lane = api.startLane();
  });
  afterAll(async () => {
    await lane?.close();
    await api?.close();
  });

  test('is accepted by the receiver for Node, also with the previous secret after a rotation', async () => {
    const [project, port] = [await newProject(api), await freePort()];
    const webhook = await newWebhook(api, project, { url: `http://127.0.0.1:${port}/` });
    const output = runReceiver(webhook.secret, port);
    await until('the receiver listens', 10_000, async () => (await fetch(`http://127.0.0.1:${port}/`)).status > 0);
    const first = await sendTest(api, project, webhook);
    const delivered = { status: 'succeeded', response_status: 204 };
    expect(await untilDelivered(api, project, webhook, first)).toMatchObject(delivered);
    await okIn(api, project, 'rotateWebhookSecret', { params: { webhook_id: webhook.id }, body: {} });
    const second = await sendTest(api, project, webhook);
    expect(await untilDelivered(api, project, webhook, second)).toMatchObject(delivered);
    expect(output()).toContain(`${first} webhook.test`);
    expect(output()).toContain(`${second} webhook.test`);
  });

  test.skipIf(!hasPython)('is accepted by the function for Python, and refused with another secret', async () => {
    const project = await newProject(api);
    const receiver = await startReceiver((response) => response.writeHead(204).end());
    ends.push(() => void receiver.close());
    const webhook = await newWebhook(api, project, { url: receiver.url });
    await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    const [{ headers, text: body } = expect.unreachable('Nothing was received')] = receiver.received;
    const verified = await verifiedByPython([
      [webhook.secret, headers, body],
      [newWebhookSecret(), headers, body],
    ]);
    expect(verified).toBe('[True, False]');
  });
});

test('the table of events names every event with every field', () => {
  const rows = new Map(
    [...page.matchAll(/^\| `([a-z_.]+)` \|[^|]*\|(.*)\|$/gm)].map(([, type, fields]) => [type, fields]),
  );
  for (const [type, schema] of Object.entries(eventData)) {
    const named = [...(rows.get(type) ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name]) => name);
    expect([type, named]).toEqual([type, Object.keys(schema.shape)]);
  }
});
