import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SearchEvent } from '../../../src/domains/prompt-search/search/ports.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { aCandidate, aDecision, anEvaluation, type RunOfTest, storedRun } from '../../support/stored-run.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

async function aPrompt(project: ProjectOfTest, name = 'Sort'): Promise<string> {
  const at = { params: { project_id: project.id }, key: project.key };
  const body = { name, slug: 'sort', type: 'text', template: 'Sort {{ticket}}' };
  return (await api.call<{ id: string }>('createPrompt', { ...at, body })).body.id;
}

function report(project: ProjectOfTest, promptId: string, runId: string, key = project.key) {
  const params = { project_id: project.id, prompt_id: promptId, run_id: runId };
  return api.call('getOptimizationReport', { params, key });
}

const before = { type: 'text', template: 'Sort {{ticket}}\nKeep it short.' } as const;
const after = { type: 'text', template: 'Sort {{ticket}}\nKeep it short.\nLegal threats are P1.' } as const;

/** A run that improved the prompt: two candidates, and two rows of the holdout. */
function anImprovement(promptId: string): RunOfTest {
  const seed = aCandidate({ id: 'seed', content: before, origin: 'seed', iteration: 0, val: { mean: 0.4, n: 10 } });
  const winner = aCandidate({
    ...{
      id: 'c1',
      content: after,
      parents: ['seed'],
      hypothesis: 'Legal threats were missed',
      val: { mean: 0.95, n: 10 },
    },
    minibatch: { before: 0.25, after: 1 },
  });
  const refused = aCandidate({
    ...{
      id: 'c2',
      content: after,
      parents: ['c1'],
      status: 'rejected_invalid',
      rejectReason: 'The variable is missing',
    },
    val: null,
  });
  const outcome = (hash: string, rowKey: string, score: number, output: string) =>
    anEvaluation({ candidateHash: hash, rowKey, score, output, feedback: score === 1 ? '' : `Not ${output}` });
  const evaluations = [
    outcome(seed.hash, 'row-a', 0, 'P3'),
    outcome(seed.hash, 'row-b', 1, 'P2'),
    outcome(winner.hash, 'row-a', 1, 'P1'),
    outcome(winner.hash, 'row-b', 0.5, 'P4'),
  ];
  const candidates = [seed, winner, refused].map((candidate): SearchEvent => ({ type: 'candidate', candidate }));
  return {
    promptId,
    rows: ['row-a', 'row-b'].map((key) => ({
      ...{ key, split: 'holdout', inputs: { ticket: `text of ${key}` }, expected: 'P1', weight: 1, source: 'inline' },
    })),
    events: [
      ...candidates,
      { type: 'evaluations', evaluations },
      { type: 'score', call: 10, bestVal: 0.4 },
      { type: 'score', call: 60, bestVal: 0.95 },
    ],
    ending: { state: 'completed', decision: aDecision('c1') },
  };
}

/** Returns every tag of a page with the names of its attributes. Fails at a `<` that begins none. */
function tagsOf(page: string): { name: string; attributes: string[] }[] {
  const withoutStyle = page.replace(/^<!doctype html>/, '').replace(/<style>[^<]*<\/style>/, '');
  const tag = /<\/?([a-z][a-z0-9]*)((?: [a-zA-Z0-9-]+="[^"<>]*")*)\/?>/g;
  expect(withoutStyle.replace(tag, '')).not.toMatch(/[<>]/);
  return [...withoutStyle.matchAll(tag)].map(([, name = '', attributes = '']) => ({
    name,
    attributes: [...attributes.matchAll(/ ([a-zA-Z0-9-]+)="[^"]*"/g)].map(([, attribute = '']) => attribute),
  }));
}

const plainTags =
  /^(?:html|head|meta|title|body|h[123]|p|b|small|ul|li|table|thead|tbody|tr|th|td|pre|span|svg|line|circle|path|text)$/;
const plainAttributes =
  /^(?:lang|charset|http-equiv|content|name|class|viewBox|role|aria-label|d|r|x|y|x1|x2|y1|y2|cx|cy)$/;

function expectHarmless(page: string): void {
  const tags = tagsOf(page);
  expect(tags.filter(({ name }) => !plainTags.test(name))).toEqual([]);
  expect(tags.flatMap(({ attributes }) => attributes).filter((name) => !plainAttributes.test(name))).toEqual([]);
}

describe('200', () => {
  test('an improved run has its verdict, intervals, changes, rows, curve and candidates', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const { status, headers, text } = await report(
      project,
      'sort',
      await storedRun(api, project, anImprovement(promptId)),
    );
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expectHarmless(text);
    expect(text).toContain('The new prompt is better on rows that the search never saw.');
    expect(text).toContain('0.500 (95 % interval 0.300 to 0.700)');
    expect(text).toContain('p = 0.0019');
    expect(text).toContain('<span class="added">+Legal threats are P1.</span>');
    expect(text).toContain('<td class="tree">└ c1 ★</td>');
    expect(text).toContain('<td class="tree">│ └ c2</td>');
    expect(text).toContain('The variable is missing');
    expect(text).toMatch(/<path class="curve" d="M[\d.]+ [\d.]+ H[\d.]+ V[\d.]+ H[\d.]+"\/>/);
    const [, worstBefore = '', worstAfter = ''] = text.split(/<h3>Worst (?:before|after)<\/h3>/);
    expect([...worstBefore.matchAll(/text of (row-.)/g)].map(([, row]) => row)).toEqual(['row-a', 'row-b']);
    expect([...worstAfter.matchAll(/text of (row-.)/g)].map(([, row]) => row)).toEqual(['row-b', 'row-a']);
    expect(worstBefore).toContain('<b>0.000</b><pre>P3</pre>\n<small>Not P3</small>');
  });

  test('the policy allows nothing but the style of the page', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const { headers } = await report(project, promptId, await storedRun(api, project, anImprovement(promptId)));
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox$/,
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('private, no-store');
  });

  test('texts of prompts, rows and models stay texts, whatever they contain', async () => {
    const project = await newProject(api);
    const hostile = `</title></style></pre></td><script>alert(1)</script><img src=x onerror='alert("1")'>&lt;\u202E`;
    const promptId = await aPrompt(project, hostile.slice(0, 90));
    const content = { type: 'text', template: `${hostile}\n{{ticket}}` } as const;
    const seed = aCandidate({ id: hostile, content: before, hash: 'a', origin: 'seed' });
    const best = aCandidate({ id: `${hostile}2`, content, hash: 'b', hypothesis: hostile, parents: [hostile] });
    const said = { rowKey: hostile, output: hostile, feedback: hostile };
    const id = await storedRun(api, project, {
      promptId,
      warnings: [{ code: 'warned', message: hostile }],
      rows: [
        {
          ...{ key: hostile, split: 'holdout', inputs: { [hostile]: hostile }, expected: hostile, weight: 1 },
          source: 'execution',
        },
      ],
      events: [
        { type: 'candidate', candidate: seed },
        { type: 'candidate', candidate: best },
        {
          type: 'evaluations',
          evaluations: ['a', 'b'].map((candidateHash) => anEvaluation({ ...said, candidateHash })),
        },
      ],
      ending: { state: 'completed', decision: aDecision(best.id) },
    });
    const { text } = await report(project, promptId, id);
    expectHarmless(text);
    // Name, diff, two rows with inputs, expected, outputs and feedback, ids, hypothesis, warning.
    expect(text.split('&lt;script&gt;alert(1)').length).toBeGreaterThan(15);
    expect(text).not.toContain('\u202E');
    expect(text).toContain('[U+202E]');
  });

  test('of very long texts, shows the beginning', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const long = '<"&\n'.repeat(25_000);
    const run = anImprovement(promptId);
    const content = { type: 'text', template: `${long}{{ticket}}` } as const;
    const many = Array.from({ length: 310 }, (_, index) =>
      aCandidate({
        id: `m${index}`,
        hash: `m${index}`,
        content: before,
        hypothesis: long.slice(0, 4_000),
        parents: [`m${index - 1}`],
      }),
    );
    const id = await storedRun(api, project, {
      ...run,
      rows: (run.rows ?? []).map((row) => ({ ...row, inputs: { ticket: long }, expected: long })),
      events: [
        {
          type: 'candidate',
          candidate: aCandidate({ id: 'seed', content: before, hash: 'hash of seed', origin: 'seed' }),
        },
        { type: 'candidate', candidate: aCandidate({ id: 'c1', content, hash: 'hash of c1', parents: ['seed'] }) },
        ...many.map((candidate): SearchEvent => ({ type: 'candidate', candidate })),
        ...(run.events ?? []).filter(({ type }) => type === 'evaluations'),
      ],
    });
    const { text } = await report(project, promptId, id);
    expectHarmless(text);
    expect(text.length).toBeLessThan(3_000_000);
    expect(text).toContain('The run has more candidates.');
  });

  test('a run that has only begun says so', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const { text } = await report(project, promptId, await storedRun(api, project, { promptId }));
    expectHarmless(text);
    expect(text).toContain('The run has not ended. This page shows what it has so far.');
    expect(text).toContain('No candidate has a score yet.');
  });

  test('a run whose scores were not numbers has a dash for each', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const unknown = { mean: Number.NaN, ci95: [Number.NaN, Number.NaN] } as const;
    const score = { split: 'holdout', n: 20, base: unknown, best: unknown, delta: { ...unknown, p: null } } as const;
    const run = { ...anImprovement(promptId), ending: { state: 'completed', decision: aDecision('c1', { score }) } };
    const { status, text } = await report(project, promptId, await storedRun(api, project, run as RunOfTest));
    expect(status).toBe(200);
    expectHarmless(text);
    expect(text).toContain('<tr><th>after</th><td>– (95 % interval – to –)</td></tr>');
    expect(text).not.toContain('<circle');
  });

  test('a failed run names its error', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const error = { code: 'provider_auth', message: 'The endpoint refused the key' } as const;
    const id = await storedRun(api, project, { promptId, ending: { state: 'failed', error } });
    const { text } = await report(project, promptId, id);
    expect(text).toContain('provider_auth: The endpoint refused the key');
  });
});

describe('401 and 403', () => {
  test('without a credential, or with a key that may not read prompts, there is no report', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const id = await storedRun(api, project, { promptId });
    const { key } = await newKey(api, project.id, { scopes: ['traces:write'] });
    expectProblem(await report(project, promptId, id, key), 403, 'insufficient_scope');
    const params = { project_id: project.id, prompt_id: promptId, run_id: id };
    expectProblem(await api.call('getOptimizationReport', { params }), 401, 'credentials_required');
  });
});

describe('404', () => {
  test('an unknown run, and one of another prompt or project, is not found', async () => {
    const [project, other] = await Promise.all([newProject(api), newProject(api)]);
    const promptId = await aPrompt(project);
    const [othersPrompt, params] = [await aPrompt(other), { project_id: project.id }];
    const body = { name: 'Second', type: 'text', template: '{{a}}' };
    const second = await api.call<{ id: string }>('createPrompt', { params, key: project.key, body });
    const id = await storedRun(api, project, { promptId });
    const othersId = await storedRun(api, other, { promptId: othersPrompt });
    for (const [prompt, run] of [
      [promptId, 'opt_none'],
      [promptId, othersId],
      [second.body.id, id],
    ] as const) {
      expectProblem(await report(project, prompt, run), 404, 'run_not_found');
    }
    expectProblem(await report(project, 'no-such-prompt', id), 404, 'prompt_not_found');
    expectProblem(await report(other, othersPrompt, othersId, project.key), 404, 'project_not_found');
  });
});
