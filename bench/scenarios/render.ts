import type { SendResult } from '../load/send-result.ts';
import { round, summarizeLatencies } from '../statistics.ts';
import type { Target } from '../target.ts';
import { type Bench, watchResources } from './bench.ts';

const rendersPerS = 2_000;
const defaultSeconds = 15;
const connectionsMax = 64;
const closedSeconds = 10;
/** More than a closed loop can send. */
const closedCountMax = 80_000;
const warmUpCount = 30_000;
const sampleEveryMs = 200;

const part = { name: 'Bench tone', slug: 'bench-tone', template: 'Answer {{customer.name}} in a {{tone}} tone.' };
const prompt = {
  name: 'Bench support',
  slug: 'bench-support',
  type: 'chat',
  labels: ['production'],
  config: { provider: 'openai', model: 'gpt-4o' },
  messages: [
    { role: 'system', content: 'You answer customers of a shop. {{> bench-tone tone="friendly"}}' },
    {
      role: 'user',
      content: '{{question}}{{#passages}}\n- {{text}}{{/passages}}{{#customer.plan}} ({{.}}){{/customer.plan}}',
    },
  ],
} as const;

/** Renders one chat prompt with a part 2,000 times per second (open loop), and as often as possible (closed loop). */
export async function render(bench: Bench): Promise<object> {
  const { target, load } = bench;
  const seconds = bench.options.seconds ?? defaultSeconds;
  const path = `/api/projects/${target.projectId}/prompts/${prompt.slug}/render`;
  await create(target, 'parts', part);
  await create(target, 'prompts', prompt);
  bench.say('  warming up');
  await load.run('prepareRenders', { count: warmUpCount, path });
  await load.run('closedLoop', { connections: bench.options.connections, seconds: closedSeconds });
  bench.say(`  ${rendersPerS} renders per second`);
  const { bodyBytes } = await load.run('prepareRenders', { count: rendersPerS * seconds, path });
  const open = await measure(bench, () => load.run('openLoop', { bodiesPerS: rendersPerS, connectionsMax }));
  bench.say('  as many as possible');
  await load.run('prepareRenders', { count: closedCountMax, path });
  const { connections } = bench.options;
  const closed = await measure(bench, () => load.run('closedLoop', { connections, seconds: closedSeconds }));
  return {
    parameters: {
      renders_per_s: rendersPerS,
      seconds,
      connections_max: connectionsMax,
      connections,
      body_bytes: bodyBytes,
    },
    open_loop: open,
    closed_loop: closed,
  };
}

async function measure(bench: Bench, send: () => Promise<SendResult>): Promise<object> {
  const watch = watchResources(bench, sampleEveryMs);
  const sent = await send();
  const { byProcess: resources, others_cpu_s } = watch.stop();
  const answered = sent.ackMs.length;
  const sendS = (sent.lastAnsweredAtMs - sent.firstSentAtMs) / 1_000;
  const cpuS = resources.api?.cpu_s ?? null;
  return {
    answers: sent.statuses,
    renders_per_s: round(answered / sendS),
    latency: summarizeLatencies(sent.ackMs),
    api_cpu_us_per_render: cpuS === null ? null : round((cpuS * 1e6) / answered, 1),
    others_cpu_s,
    resources,
  };
}

async function create({ url, projectId, apiKey }: Target, path: 'parts' | 'prompts', body: object): Promise<void> {
  const answer = await fetch(`${url}/api/projects/${projectId}/${path}`, {
    method: 'POST',
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${path} responded with ${answer.status}: ${await answer.text()}`);
}
