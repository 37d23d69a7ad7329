import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { expectSigned, type Receiver, startReceiver } from '../support/webhooks.ts';

let stack: Stack;
let project: Project;
let receiver: Receiver;
beforeAll(async () => {
  stack = await startStack({ env: { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', LOG_LEVEL: 'trace' } });
  project = await stack.createProject('of the test');
});
afterAll(async () => {
  await receiver?.close();
  await stack?.stop();
});

async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey },
    body: JSON.stringify(body),
  });
  if (response.status >= 300) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

it('an event that is being sent by a worker which is killed is sent again, and the logs say no secret', async () => {
  showLogsOnFailure(stack);
  receiver = await startReceiver((response, nth) => nth > 1 && response.end('the answer'));
  const events = ['prompt.version_created'];
  const { secret } = await post<{ secret: string }>('/webhooks', { url: receiver.url, events });
  const prompt = { name: 'greeting', type: 'text', template: 'Hi', commit_message: 'a word of a payload' };
  const { id } = await post<{ id: string }>('/prompts', prompt);
  await until('the first request', 10_000, () => receiver.received.length === 1);
  await stack.worker.kill();
  await stack.worker.start();
  await until('the second request', 60_000, () => receiver.received.length === 2);
  const [first, second] = receiver.received;
  expect([second?.id, second?.text]).toEqual([first?.id, first?.text]);
  expect(second?.body).toMatchObject({
    ...{ type: 'prompt.version_created' },
    data: { project_id: project.id, prompt_id: id, slug: 'greeting', version: 1, kind: 'create', parent_version: null },
  });
  for (const request of receiver.received) expectSigned(request, secret);
  const log = stack.api.log() + stack.worker.log();
  for (const word of [secret, secret.slice(6), 'v1,', 'the answer', 'whsec_'])
    expect(log.includes(word), word).toBe(false);
});
