import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { storeCall } from '../../../src/domains/ingestion/index.ts';
import { QueueGate } from '../../../src/domains/ingestion/receive/queue-gate.ts';
import { RedisClock } from '../../../src/queue/redis-clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const megabyte = 1024 * 1024;
/** Of Redis the gate sees what INFO and TIME answer. */
const redis = {
  status: 'ready',
  info: async () =>
    ['aof_enabled:1', 'aof_last_write_status:ok', 'used_memory:1', 'maxmemory_policy:noeviction'].join('\r\n'),
  time: async () => [Math.floor(Date.now() / 1_000), 0],
} as unknown as Redis;
const project = { projectId: 'prj_a', workspaceId: 'wsp_full', plan: 'free', overrides: {} } as const;
const call = {
  ...{
    name: 'optimization task',
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    output: 'x',
    error: null,
  },
  ...{ startedAtMs: 1, endedAtMs: 2, usage: { inputTokens: 1, outputTokens: 1 }, tags: [], metadata: {} },
};

test('calls that the service stores count: a workspace with more than its share of Redis has no room for more', async () => {
  const clock = new RedisClock();
  let bytes = 24 * megabyte;
  const gate = new QueueGate({
    ...{ redis, clock, logger: createLogger({ level: 'silent', name: 'test' }), memoryBytesMax: 100 * megabyte },
    ...{ waitingSinceMs: async () => undefined, backlogOf: async () => ({ bytes, cost: 0 }) },
  });
  onTestFinished(() => gate.close());
  await gate.start();
  const publisher = { publish: async () => ({ duplicate: false, backlog: { bytes, cost: 0 } }) };
  const store = () => storeCall({ publisher, clock, gate }, { project, identity: ['run'], call });
  await store();
  await gate.assertRoomFor('wsp_full');
  bytes = 26 * megabyte;
  await store();
  await expect(gate.assertRoomFor('wsp_full')).rejects.toMatchObject({ code: 'workspace_busy' });
  await gate.assertRoomFor('wsp_other');
  bytes = 20 * megabyte;
  await gate.assertRoomFor('wsp_full');
});

test('of a response above a mebibyte the beginning is stored, whatever characters it has', async () => {
  const bodies: Buffer[] = [];
  const publisher = {
    publish: async (_id: string, body: Buffer) => {
      bodies.push(body);
      return { duplicate: false, backlog: { bytes: 0, cost: 0 } };
    },
  };
  const text = '\ufffd'.repeat(300_000) + 'é'.repeat(megabyte);
  await storeCall(
    { publisher, clock: new RedisClock(), gate: { noteBacklog: () => undefined } },
    { project, identity: ['run'], call: { ...call, messages: [{ role: 'user', content: text }], output: null } },
  );
  const [stored = ''] = /\ufffd+é+/.exec(bodies.join('')) ?? [];
  expect(text.startsWith(stored)).toBe(true);
  expect(megabyte - Buffer.byteLength(stored)).toBeLessThan(64);
});
