import { afterAll, beforeAll, expect, test } from 'vitest';
import { nanoOf, usdOf } from '../../support/analytics.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { aBudget, getBudget, pricedCall, putBudget } from '../../support/budgets.ts';
import { integerBetween, seededRandom } from '../../support/random.ts';
import { sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** A state of a budget that is enforced is at most this old. The rest is for a busy machine. */
const stateAgeMsMax = 30_000 + 15_000;

interface Prompt {
  id: string;
  slug: string;
  name: string;
}

async function newPrompt(project: ProjectOfTest, slug: string): Promise<Prompt> {
  const body = { name: `The prompt ${slug}`, slug, type: 'text', template: 'Hello' };
  const { body: prompt } = await api.call<Prompt>('createPrompt', {
    ...{ params: { project_id: project.id }, key: project.key, body },
  });
  return prompt;
}

const render = (project: ProjectOfTest, { id }: Prompt) =>
  api.call('renderPrompt', { params: { project_id: project.id, prompt_id: id }, key: project.key, body: {} });

interface Sent {
  prompt: Prompt | undefined;
  environment: string;
  cost: bigint;
  atMs: number;
  /** Names its prompt by the slug, as exporters of other products do. */
  bySlug: boolean;
}

const spanOf = ({ prompt, environment, cost, atMs, bySlug }: Sent) => {
  const named = bySlug ? { 'gen_ai.prompt.name': prompt?.slug ?? '' } : { 'promptlane.prompt.id': prompt?.id ?? '' };
  return pricedCall(cost, {
    ...{ startUnixNano: BigInt(atMs) * 1_000_000n, endUnixNano: BigInt(atMs + 5) * 1_000_000n },
    attributes: { ...(prompt && named), ...(environment && { 'deployment.environment.name': environment }) },
  });
};

const sumOf = (sent: readonly Sent[]) => sent.reduce((sum, { cost }) => sum + cost, 0n);

function untilSpend(project: ProjectOfTest, total: bigint) {
  return until('the spend', 30_000, async () => {
    const { body } = await getBudget(api, project);
    return nanoOf(body.spend) === total && body;
  });
}

test('the spend of prompts and environments is that of their calls, however the prompt is named', async () => {
  const project = await newProject(api);
  const prompts = [await newPrompt(project, 'first'), await newPrompt(project, 'second'), undefined];
  const [first, second] = prompts as [Prompt, Prompt, undefined];
  const random = seededRandom();
  const nowMs = Date.now();
  const monthMs = Date.UTC(new Date(nowMs).getUTCFullYear(), new Date(nowMs).getUTCMonth());
  const sent = Array.from(
    { length: 80 },
    (): Sent => ({
      ...{ prompt: prompts[integerBetween(random, 0, 2)], bySlug: random() < 0.5 },
      environment: ['production', 'staging', ''][integerBetween(random, 0, 2)] ?? '',
      ...{ cost: BigInt(integerBetween(random, 1, 90_000_000)), atMs: integerBetween(random, monthMs, nowMs) },
    }),
  );
  await sendSpans(api, project.key, sent.map(spanOf));
  const scopes = [
    ...[first.id, first.slug, first.name, second.slug, second.id].map((value) => ({
      by: 'prompt',
      value,
      amount: '1000',
    })),
    ...['production', 'staging', 'nowhere'].map((value) => ({ by: 'environment', value, amount: '1000' })),
    { by: 'model', value: 'house-model', amount: '1000' },
  ];
  await putBudget(api, project, { ...aBudget, amount: '1000', scopes });
  const body = await untilSpend(project, sumOf(sent));
  const ofPrompt = (prompt: Prompt) => sumOf(sent.filter((each) => each.prompt === prompt));
  const ofEnvironment = (name: string) => sumOf(sent.filter(({ environment }) => environment === name));
  expect(body.scopes.map(({ value, spend }) => [value, spend])).toEqual([
    ...[first.id, first.slug, first.name].map((value) => [value, usdOf(ofPrompt(first))]),
    ...[second.slug, second.id].map((value) => [value, usdOf(ofPrompt(second))]),
    ...['production', 'staging', 'nowhere'].map((name) => [name, usdOf(ofEnvironment(name))]),
    ['house-model', usdOf(sumOf(sent))],
  ]);
});

test('calls that were stored before their prompt existed, with its slug or its text only, are in its scopes', async () => {
  const project = await newProject(api);
  const call = (cost: bigint, attributes: Record<string, string>) => pricedCall(cost, { attributes });
  await sendSpans(api, project.key, [
    call(100_000_000n, { 'gen_ai.prompt.name': 'later' }),
    call(20_000_000n, { 'llm.prompt_template.template': 'Hello' }),
    call(3_000_000n, { 'gen_ai.prompt.name': 'other' }),
  ]);
  await untilSpend(project, 123_000_000n);
  const prompt = await newPrompt(project, 'later');
  await sendSpans(api, project.key, [call(4_000_000n, { 'gen_ai.prompt.name': 'later' })]);
  await untilSpend(project, 127_000_000n);
  const values = [prompt.id, prompt.slug, prompt.name, 'other', 'nobody'];
  const scopes = values.map((value) => ({ by: 'prompt', value, amount: '1' }));
  const { body } = await putBudget(api, project, { ...aBudget, scopes });
  const spent = ['0.124000', '0.124000', '0.124000', '0.003000', '0.000000'];
  expect(body.scopes.map(({ spend }) => spend)).toEqual(spent);
});

test('a scope with a name that no prompt has any more still has the calls that were named so', async () => {
  const project = await newProject(api);
  const prompt = await newPrompt(project, 'early');
  await sendSpans(api, project.key, [pricedCall(10_000_000n, { attributes: { 'gen_ai.prompt.name': 'early' } })]);
  await untilSpend(project, 10_000_000n);
  const at = { params: { project_id: project.id, prompt_id: prompt.id }, key: project.key };
  expect((await api.call('updatePrompt', { ...at, body: { slug: 'renamed' } })).status).toBe(200);
  const scopes = ['early', prompt.id].map((value) => ({ by: 'prompt', value, amount: '1' }));
  const { body } = await putBudget(api, project, { ...aBudget, scopes });
  expect(body.scopes.map(({ spend }) => spend)).toEqual(['0.010000', '0.010000']);
});

test('a used up scope of a prompt blocks renders of this prompt only, and late spans count within 30 s', async () => {
  const project = await newProject(api);
  const [first, second] = [await newPrompt(project, 'first'), await newPrompt(project, 'second')];
  const nowMs = Date.now();
  const dayMs = new Date(nowMs).setUTCHours(0, 0, 0, 0);
  const call = (prompt: Prompt, cost: bigint, atMs = nowMs): Sent => ({
    ...{ prompt, cost, atMs, environment: 'production', bySlug: false },
  });
  const sent = [call(first, 600_000_000n), call(second, 400_000_000n)];
  await sendSpans(api, project.key, sent.map(spanOf));
  const budget = { ...aBudget, amount: '100', period: 'daily', enforcement: 'block_render' };
  const scopes = [
    { by: 'prompt', value: first.slug, amount: '0.5' },
    { by: 'prompt', value: second.id, amount: '0.5' },
    // A render has no environment, so this scope warns only.
    { by: 'environment', value: 'production', amount: '0.000001' },
  ];
  await putBudget(api, project, { ...budget, scopes });
  await untilSpend(project, sumOf(sent));
  // A new version, so that the state of before is not used any more.
  await putBudget(api, project, { ...budget, scopes });
  const refused = expectProblem(await render(project, first), 402, 'budget_exceeded');
  expect(refused).toMatchObject({ spend: '0.600000', amount: '0.500000', scope: { by: 'prompt', value: 'first' } });
  expect(refused.detail).toContain('The budget of prompt first is used up');
  expect((await render(project, second)).status).toBe(200);

  const late = [call(second, 100_000_000n, dayMs), call(second, 900_000_000n, dayMs - 1)];
  await sendSpans(api, project.key, late.map(spanOf));
  const { scopes: read } = await untilSpend(project, sumOf([...sent, ...late.slice(0, 1)]));
  expect(read.map(({ spend, state }) => [spend, state])).toEqual([
    ['0.600000', 'exceeded'],
    ['0.500000', 'exceeded'],
    ['1.100000', 'exceeded'],
  ]);
  const blocked = await until('the other prompt is blocked', stateAgeMsMax, async () => {
    const answer = await render(project, second);
    return answer.status !== 200 && answer;
  });
  expect(expectProblem(blocked, 402, 'budget_exceeded')).toMatchObject({
    ...{ spend: '0.500000', scope: { by: 'prompt', value: second.id } },
  });
  expect((await render(project, await newPrompt(project, 'third'))).status).toBe(200);
});
