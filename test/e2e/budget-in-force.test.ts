import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type OwnApi, startOwnApi } from '../support/api-process.ts';
import { aBudget, getBudget, pricedCall, putBudget } from '../support/budgets.ts';
import { sendSpans } from '../support/traces.ts';
import { until } from '../support/until.ts';

/** What is promised for every process. */
const inForceMsMax = 1_000;

let api: TestApi;
let other: OwnApi;
beforeAll(async () => {
  api = await startApi();
  other = await startOwnApi(api.config);
});
afterAll(async () => {
  await other?.stop();
  await api?.close();
});

async function renderElsewhere(project: ProjectOfTest): Promise<{ status: number; code?: string }> {
  const response = await fetch(`${other.url}/api/projects/${project.id}/prompts/greeting/render`, {
    method: 'POST',
    headers: { 'X-API-Key': project.key, 'Content-Type': 'application/json' },
    body: '{}',
  });
  return { status: response.status, ...((await response.json()) as { code?: string }) };
}

/** Changes the budget in this process and returns after what time the other one answers renders so. */
async function inForceAfterMs(project: ProjectOfTest, change: () => Promise<unknown>, status: number): Promise<number> {
  await change();
  const startedAtMs = performance.now();
  await until(`the other process answers ${status}`, 30_000, async () => {
    return (await renderElsewhere(project)).status === status;
  });
  return performance.now() - startedAtMs;
}

test('a budget that is set, raised, lowered and deleted in one process is in force in another within 1 s', async () => {
  const project = await newProject(api);
  const at = { params: { project_id: project.id }, key: project.key };
  await api.call('createPrompt', { ...at, body: { name: 'greeting', type: 'text', template: 'Hello' } });
  await sendSpans(api, project.key, [pricedCall(2_000_000_000n)]);
  await until('the spend', 30_000, async () => (await getBudget(api, project)).body.spend === '2.000000');
  expect((await renderElsewhere(project)).status).toBe(200);
  const put = (amount: string) => () => putBudget(api, project, { ...aBudget, amount, enforcement: 'block_render' });
  expect(await inForceAfterMs(project, put('1'), 402)).toBeLessThan(inForceMsMax);
  expect(await renderElsewhere(project)).toMatchObject({
    code: 'budget_exceeded',
    spend: '2.000000',
    amount: '1.000000',
  });
  expect(await inForceAfterMs(project, put('3'), 200)).toBeLessThan(inForceMsMax);
  expect(await inForceAfterMs(project, put('2'), 402)).toBeLessThan(inForceMsMax);
  const none = () => putBudget(api, project, { ...aBudget, amount: '1', enforcement: 'none' });
  expect(await inForceAfterMs(project, none, 200)).toBeLessThan(inForceMsMax);
  expect(await inForceAfterMs(project, put('1'), 402)).toBeLessThan(inForceMsMax);
  expect(await inForceAfterMs(project, () => api.call('deleteBudget', at), 200)).toBeLessThan(inForceMsMax);
});
