import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { readCaptures, replay } from '../support/captures.ts';
import { deletePrompt, insertPrompt } from '../support/prompts.ts';
import { aModelCall, aSpan, newSpanId, newTraceId } from '../support/spans.ts';
import {
  getExecution,
  listExecutions,
  sendSpans,
  untilExecution,
  untilListed,
  untilStored,
} from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let clickhouse: ClickHouse;

beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

/** The attributes of a span in one of its dialects. */
type Attributes = Record<string, string | bigint>;

async function sent(project: ProjectOfTest, attributes: Attributes) {
  const traceId = newTraceId();
  await sendSpans(api, project.key, [aModelCall(1, 1, { traceId, attributes })]);
  const execution = await untilStored(api, project, traceId);
  await untilListed(api, project, traceId);
  return { traceId, execution, ref: execution.spans[0]?.prompt_ref };
}

/** What the store itself holds of the trace's only span. */
async function storedRef(project: ProjectOfTest, traceId: string) {
  const result = await clickhouse.query({
    query: `SELECT prompt_id, prompt_name, prompt_version, prompt_raw_version, prompt_source, prompt_key FROM spans FINAL
            WHERE project_id = {id:String} AND trace_id = unhex({traceId:String})`,
    query_params: { id: project.id, traceId },
    format: 'JSONEachRow',
  });
  return (await result.json())[0];
}

/** The traces that the list finds by the prompt. */
async function tracesOf(project: ProjectOfTest, promptId: string, version?: number): Promise<string[]> {
  const query = { prompt_id: promptId, ...(version === undefined ? {} : { prompt_version: version }) };
  const { body } = await listExecutions(api, project, { ...query, limit: 100 });
  return body.data.map(({ trace_id }) => trace_id).toSorted();
}

describe('a prompt of the project', () => {
  const template = 'Answer {{question}} about the weather.';
  let project: ProjectOfTest;
  let promptId: string;

  beforeAll(async () => {
    project = await newProject(api);
    const templates = [template, 'Be brief. {{question}}', template];
    promptId = await insertPrompt(api.postgres, project.id, { slug: 'weather', name: 'The weather', templates });
  });

  test.each<[string, () => Attributes, object]>([
    [
      'its id',
      () => ({ 'promptlane.prompt.id': promptId, 'promptlane.prompt.version': 2n }),
      { name: 'weather', version: 2, raw: '2', source: 'self' },
    ],
    [
      'its id and a name of another',
      () => ({ 'promptlane.prompt.id': promptId, 'gen_ai.prompt.name': 'x', 'gen_ai.prompt.version': '2' }),
      { name: 'x', version: 2, source: 'self' },
    ],
    [
      'its slug',
      () => ({ 'gen_ai.prompt.name': 'weather', 'gen_ai.prompt.version': 'v3' }),
      { name: 'weather', version: 3, raw: 'v3', source: 'self' },
    ],
    [
      'its name, without a version',
      () => ({ 'langfuse.observation.prompt.name': 'The weather' }),
      { name: 'The weather', version: null, raw: null, source: 'self' },
    ],
    [
      'the first of several linked prompts',
      () => ({ 'mlflow.linkedPrompts': '[{"name":"weather","version":"1"},{"name":"other","version":"2"}]' }),
      { name: 'weather', version: 1, source: 'self' },
    ],
    [
      'the first known of several linked prompts',
      () => ({ 'mlflow.linkedPrompts': '[{"name":"nobody"},{"name":"The weather","version":"2"},{"name":"weather"}]' }),
      { name: 'The weather', version: 2, raw: '2', source: 'self' },
    ],
    [
      'its text: the newest version with it',
      () => ({ 'llm.prompt_template.template': template }),
      { name: 'weather', version: 3, raw: null, source: 'template_match' },
    ],
    [
      'its text and a version that has it',
      () => ({ 'traceloop.prompt.template': template, 'traceloop.prompt.version': 1n }),
      { name: 'weather', version: 1, raw: '1', source: 'template_match' },
    ],
  ])('is linked by %s, in the store, the detail and the list', async (_how, attributes, expected) => {
    const { traceId, execution, ref } = await sent(project, attributes());
    expect(ref).toMatchObject({ id: promptId, ...expected });
    expect(await storedRef(project, traceId)).toMatchObject({ prompt_id: promptId, prompt_key: '' });
    const listed = await untilListed(api, project, traceId);
    const use = { prompt_id: promptId, prompt_version: ref?.version, name: ref?.name, calls: 1 };
    expect([execution.prompts, listed.prompts]).toEqual([[use], [use]]);
    expect(await tracesOf(project, promptId)).toContain(traceId);
  });

  test('is not linked by a part of its text, another case of its name, or what Postgres cannot hold', async () => {
    for (const attributes of [
      { 'llm.prompt_template.template': `${template} ` },
      { 'gen_ai.prompt.name': 'Weather' },
      { 'gen_ai.prompt.name': 'weather\u0000' },
      { 'gen_ai.prompt.name': `weather${'x'.repeat(2_000)}` },
    ]) {
      expect((await sent(project, attributes)).ref).toMatchObject({ id: null });
    }
    // The last of them did no harm to the others.
    expect((await sent(project, { 'gen_ai.prompt.name': 'weather' })).ref).toMatchObject({ id: promptId });
  });

  test('is one prompt in a summary, however its spans name it', async () => {
    const traceId = newTraceId();
    const spans = [
      { 'gen_ai.prompt.name': 'weather', 'gen_ai.prompt.version': '3' },
      { 'gen_ai.prompt.name': 'The weather', 'gen_ai.prompt.version': 'v3' },
      { 'llm.prompt_template.template': template },
      { 'gen_ai.prompt.name': 'weather', 'gen_ai.prompt.version': '2' },
    ].map((attributes, index) =>
      aModelCall(1, 1, { traceId, attributes, startUnixNano: BigInt(Date.now() + index) * 1_000_000n }),
    );
    await sendSpans(api, project.key, spans);
    const { prompts } = await untilStored(api, project, traceId, 4);
    expect(prompts).toEqual([
      { prompt_id: promptId, prompt_version: 3, name: 'weather', calls: 3 },
      { prompt_id: promptId, prompt_version: 2, name: 'weather', calls: 1 },
    ]);
    expect((await untilListed(api, project, traceId, ({ span_count }) => span_count === 4)).prompts).toEqual(prompts);
    expect(await tracesOf(project, promptId, 2)).toContain(traceId);
    expect(await tracesOf(project, promptId, 7)).toEqual([]);
  });

  test('of another project is never linked: not by id, slug, name or text', async () => {
    const stranger = await newProject(api);
    for (const attributes of [
      { 'promptlane.prompt.id': promptId },
      { 'gen_ai.prompt.name': 'weather' },
      { 'gen_ai.prompt.name': 'The weather' },
      { 'llm.prompt_template.template': template },
    ]) {
      const { traceId, ref, execution } = await sent(stranger, attributes);
      // What was sent is shown, but nothing is linked.
      const sentId = attributes['promptlane.prompt.id'] ?? null;
      expect(ref).toMatchObject({ id: sentId });
      expect(await storedRef(stranger, traceId)).toMatchObject({ prompt_id: '' });
      const listed = await untilListed(api, stranger, traceId);
      for (const { prompts } of [execution, listed])
        expect(prompts.every((each) => each.prompt_id === sentId)).toBe(true);
      // Nor the other way round.
      expect(await tracesOf(project, promptId)).not.toContain(traceId);
    }
  });
});

describe('a prompt that is created after its spans', () => {
  test.each<[string, (slug: string) => Attributes]>([
    ['slug', (slug) => ({ 'gen_ai.prompt.name': slug, 'gen_ai.prompt.version': '1' })],
    ['name', (slug) => ({ 'gen_ai.prompt.name': `Name of ${slug}`, 'gen_ai.prompt.version': '1' })],
    ['text', (slug) => ({ 'llm.prompt_template.template': `Text of ${slug}` })],
  ])('links up by its %s when they are read, and its filter finds them', async (how, attributes) => {
    const project = await newProject(api);
    const slug = `late-${how}`;
    const { traceId, ref, execution } = await sent(project, attributes(slug));
    const raw = how === 'text' ? [] : [{ prompt_id: null, name: attributes(slug)['gen_ai.prompt.name'] }];
    expect(ref).toMatchObject({ id: null });
    expect(execution.prompts).toMatchObject(raw);
    expect((await untilListed(api, project, traceId)).prompts).toMatchObject(raw);

    const [name, templates] = [`Name of ${slug}`, [`Text of ${slug}`]];
    const promptId = await insertPrompt(api.postgres, project.id, { slug, name, templates });
    const { body } = await getExecution(api, project, traceId);
    expect(body.spans[0]?.prompt_ref).toMatchObject({ id: promptId, version: 1 });
    const use = { prompt_id: promptId, prompt_version: 1, calls: 1 };
    expect([body.prompts, (await untilListed(api, project, traceId)).prompts]).toMatchObject([[use], [use]]);
    expect(await tracesOf(project, promptId)).toEqual([traceId]);
    const other = await insertPrompt(api.postgres, project.id, { slug: 'other' });
    expect(await tracesOf(project, other)).toEqual([]);
  });

  test('is linked in the store itself by spans that come two seconds later', async () => {
    const project = await newProject(api);
    const attributes = { 'gen_ai.prompt.name': 'soon' };
    expect((await sent(project, attributes)).ref).toMatchObject({ id: null });
    const promptId = await insertPrompt(api.postgres, project.id, { slug: 'soon' });
    await until('a span stored with its link', 30_000, async () => {
      const { traceId, ref } = await sent(project, attributes);
      expect(ref).toMatchObject({ id: promptId });
      return ((await storedRef(project, traceId)) as { prompt_id: string }).prompt_id === promptId;
    });
  });
});

describe('a deleted prompt', () => {
  test('keeps its executions, those that were never linked in the store too', async () => {
    const project = await newProject(api);
    const unlinked = await sent(project, { 'gen_ai.prompt.name': 'gone' });
    const promptId = await insertPrompt(api.postgres, project.id, { slug: 'gone' });
    const linked = await sent(project, { 'promptlane.prompt.id': promptId, 'promptlane.prompt.version': '1' });
    await untilListed(api, project, linked.traceId);
    await deletePrompt(api.postgres, project.id, promptId);
    const after = await sent(project, { 'promptlane.prompt.id': promptId });
    await untilListed(api, project, after.traceId);
    for (const { traceId } of [unlinked, linked, after]) {
      const { body } = await getExecution(api, project, traceId);
      expect(body.spans[0]?.prompt_ref).toMatchObject({ id: promptId });
      expect((await untilListed(api, project, traceId)).prompts).toMatchObject([{ prompt_id: promptId }]);
    }
    const all = [unlinked, linked, after].map(({ traceId }) => traceId);
    expect(await tracesOf(project, promptId)).toEqual(all.toSorted());
  });

  test('gives its slug to the live prompt that takes it, but keeps what was linked to it', async () => {
    const project = await newProject(api);
    const first = await insertPrompt(api.postgres, project.id, { slug: 'taken' });
    const linked = await sent(project, { 'gen_ai.prompt.name': 'taken' });
    expect(linked.ref).toMatchObject({ id: first });
    await deletePrompt(api.postgres, project.id, first);
    const second = await insertPrompt(api.postgres, project.id, { slug: 'taken' });
    await until('spans go to the new prompt', 30_000, async () => {
      const { ref } = await sent(project, { 'gen_ai.prompt.name': 'taken' });
      return ref?.id === second;
    });
    await untilListed(api, project, linked.traceId);
    expect((await getExecution(api, project, linked.traceId)).body.prompts).toMatchObject([{ prompt_id: first }]);
    expect(await tracesOf(project, first)).toContain(linked.traceId);
    expect(await tracesOf(project, second)).not.toContain(linked.traceId);
  });
});

describe('an id that is no prompt of ours', () => {
  test('is kept as it was sent', async () => {
    const project = await newProject(api);
    const id = newId('prm');
    const { ref, execution } = await sent(project, { 'promptlane.prompt.id': id, 'promptlane.prompt.version': '2' });
    expect(ref).toEqual({ id, name: null, version: 2, raw: '2', source: 'self' });
    expect(execution.prompts).toEqual([{ prompt_id: id, prompt_version: 2, name: null, calls: 1 }]);
  });
});

describe('a span above a model call', () => {
  test('hands its prompt down over several requests, and only the call counts', async () => {
    const project = await newProject(api);
    const promptId = await insertPrompt(api.postgres, project.id, { slug: 'outer' });
    const [traceId, rootId, stepId] = [newTraceId(), newSpanId(), newSpanId()];
    const call = aModelCall(1, 1, { traceId, parentSpanId: stepId });
    await sendSpans(api, project.key, [call]);
    expect((await untilListed(api, project, traceId)).prompts).toEqual([]);
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: stepId, parentSpanId: rootId, name: 'step' }),
      aSpan({ traceId, spanId: rootId, attributes: { 'gen_ai.prompt.name': 'outer', 'gen_ai.prompt.version': '1' } }),
    ]);
    const { spans, prompts } = await untilExecution(api, project, traceId, (whole) => whole.spans.length === 3);
    const refs = new Map(spans.map(({ span_id, prompt_ref }) => [span_id, prompt_ref]));
    expect(refs.get(call.spanId)).toEqual({ id: promptId, name: 'outer', version: 1, raw: '1', source: 'inherited' });
    expect([refs.get(rootId)?.source, refs.get(stepId)]).toEqual(['self', null]);
    expect(prompts).toEqual([{ prompt_id: promptId, prompt_version: 1, name: 'outer', calls: 1 }]);
    expect((await untilListed(api, project, traceId, ({ span_count }) => span_count === 3)).prompts).toEqual(prompts);
  });
});

describe('the recorded requests of AI SDK 7', () => {
  test('name the prompt on agent, step and call: one use; and on the outer span only: its call inherits', async () => {
    const project = await newProject(api);
    const promptId = await insertPrompt(api.postgres, project.id, { slug: 'weather-answer' });
    for (const capture of readCaptures('vercel-ai7-prompt-link')) await replay(api.url, project.key, capture);
    const window = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', limit: 100 };
    const listed = await until('both traces', 30_000, async () => {
      const { data } = (await listExecutions(api, project, window)).body;
      return data.length === 2 && data.reduce((sum, { span_count }) => sum + span_count, 0) === 7 && data;
    });
    const use = (version: number) => [
      { prompt_id: promptId, prompt_version: version, name: 'weather-answer', calls: 1 },
    ];
    expect(listed.map(({ prompts }) => prompts)).toEqual(expect.arrayContaining([use(3), use(4)]));
    const details = await Promise.all(listed.map(({ trace_id }) => getExecution(api, project, trace_id)));
    expect(details.map(({ body }) => body.prompts)).toEqual(listed.map(({ prompts }) => prompts));
    const llmRefs = details.flatMap(({ body }) =>
      body.spans
        .filter(({ kind }) => kind === 'llm')
        .map(({ prompt_ref: ref }) => [ref?.id, ref?.version, ref?.source]),
    );
    expect(llmRefs).toEqual(
      expect.arrayContaining([
        [promptId, 3, 'self'],
        [promptId, 4, 'inherited'],
      ]),
    );
    expect(llmRefs).toHaveLength(2);
  });
});
