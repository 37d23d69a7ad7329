import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCallTexts } from '../../../src/domains/executions/index.ts';
import { type FeedbackKind, findSaidOf } from '../../../src/domains/feedback/index.ts';
import { findRatedCalls } from '../../../src/domains/optimization/from-executions/find-rated-calls.ts';
import { createRowsLane, rowsFromExecutions } from '../../../src/domains/optimization/rows-from-executions.ts';
import { RateLimitedError } from '../../../src/lib/errors.ts';
import { FairLane } from '../../../src/lib/fair-lane.ts';
import type { ProjectId } from '../../../src/lib/ids.ts';
import { oneTurn, type Rest } from '../../../src/lib/pace.ts';
import {
  backgroundSettings,
  type ClickHouse,
  connectClickHouse,
  stoppable,
} from '../../../src/stores/clickhouse/client.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { newFeedback } from '../../support/feedback.ts';
import type { SpanInput } from '../../support/otlp-encode.ts';
import { storeExecution } from '../../support/post-execution.ts';
import { integerBetween, type Random, seededRandom } from '../../support/random.ts';
import { aModelCall, aSpan, newTraceId } from '../../support/spans.ts';
import { storeRatedCalls } from '../../support/stored-calls.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { listExecutions, sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
let clickhouse: ClickHouse;

beforeAll(async () => {
  api = await startApi({
    llm: { baseUrl: 'http://127.0.0.1:9/v1', apiKey: undefined, reflectionModel: 'house-model' },
  });
  clickhouse = connectClickHouse(api.config.clickhouseUrl);
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

const variables = new Map([
  ['ticket', true],
  ['user.name', true],
  ['tone', false],
]);
const nowMs = Date.now();

async function aPrompt(project: ProjectOfTest, name: string): Promise<string> {
  const { body } = await api.call<{ id: string }>('createPrompt', {
    ...{ params: { project_id: project.id }, key: project.key },
    body: { name, type: 'text', template: `${name}: {{ticket}} for {{user.name}}{{#tone}}, {{tone}}{{/tone}}` },
  });
  return body.id;
}

const rowsLane = createRowsLane(() => undefined);

function rowsOf(
  project: ProjectOfTest,
  promptId: string,
  filter: { feedback?: FeedbackKind; limit?: number; from?: string; to?: string } = {},
  from = clickhouse,
) {
  return rowsFromExecutions(
    { postgres: api.postgres, clickhouse: from, rowsLane },
    {
      project: { projectId: project.id as ProjectId, workspaceId: 'wsp_own' },
      prompt: { id: promptId },
      ...{ variables, filter: { feedback: 'any', limit: 1_000, ...filter } },
      ...{ waiter: { signal: new AbortController().signal }, rest: oneTurn },
    },
  );
}

/** Returns the client, and the settings of each statement that goes through it from now on. */
function countStatements() {
  const settings: unknown[] = [];
  const exec: ClickHouse['exec'] = (params) => {
    settings.push(params.clickhouse_settings);
    return clickhouse.exec(params);
  };
  return { clickhouse: Object.assign(Object.create(clickhouse) as ClickHouse, { exec }), settings };
}

/** How a call tells its inputs. */
const places = ['attributes', 'nested', 'parent', 'input', 'incomplete', 'nowhere'] as const;
const opinions = ['corrected', 'positive', 'negative', 'commented', 'none'] as const;

interface Call {
  traceId: string;
  spanId: string;
  startMs: number;
  place: (typeof places)[number];
  opinion: (typeof opinions)[number];
  onSpan: boolean;
  inputs: { ticket: string; user: { name: string } };
  output: string;
  spans: SpanInput[];
}

function aCall(promptId: string, random: Random, index: number, more: Record<string, string> = {}): Call {
  const pick = <T>(list: readonly T[]) => list[integerBetween(random, 0, list.length - 1)] as T;
  const [place, opinion, onSpan] = [pick(places), pick(opinions), random() < 0.3];
  // Some calls have equal inputs.
  const inputs = { ticket: `ticket ${integerBetween(random, 0, 250)}`, user: { name: 'Ada' } };
  // ClickHouse compares ids that end with zero bytes like any other.
  const traceId = newTraceId().slice(0, 30) + (index % 7 === 0 ? '00' : '01');
  const startMs = nowMs - 10 * 60_000 - index * 1_000;
  const output = `output "${index}"`;
  const recorded = variablesAt(place, inputs);
  const at = { traceId, startUnixNano: BigInt(startMs) * 1_000_000n, endUnixNano: BigInt(startMs + 50) * 1_000_000n };
  const prompt = { 'promptlane.prompt.id': promptId };
  const root = aSpan({ ...at, attributes: { ...more, ...(place === 'parent' ? { ...prompt, ...recorded } : {}) } });
  const span = aModelCall(10, 5, {
    ...{ ...at, parentSpanId: root.spanId },
    attributes: {
      ...(place === 'parent' ? {} : { ...prompt, ...recorded }),
      ...more,
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: output }] }]),
    },
  });
  return { traceId, spanId: span.spanId, startMs, place, opinion, onSpan, inputs, output, spans: [root, span] };
}

function variablesAt(place: Call['place'], { ticket, user }: Call['inputs']) {
  const prefix = 'gen_ai.prompt.variable.';
  if (place === 'nowhere') return {};
  if (place === 'input') return { 'promptlane.input': JSON.stringify({ user, ticket }) };
  if (place === 'incomplete') return { [`${prefix}ticket`]: ticket };
  const name =
    place === 'nested' ? { [`${prefix}user`]: new Map([['name', user.name]]) } : { [`${prefix}user.name`]: user.name };
  return { [`${prefix}ticket`]: ticket, [`${prefix}unused`]: 7n, ...name };
}

const said: Readonly<Record<Exclude<Call['opinion'], 'none'>, object>> = {
  corrected: { correction: 'as it should be', rating: 'down' },
  positive: { rating: 'up', comment: 'thanks' },
  negative: { rating: 2 },
  commented: { comment: 'too long' },
};

async function giveOpinions(project: ProjectOfTest, calls: readonly Call[]): Promise<void> {
  const give = async ({ traceId, spanId, opinion, onSpan }: Call) => {
    if (opinion === 'none') return;
    const target = onSpan
      ? { target_type: 'span', trace_id: traceId, span_id: spanId }
      : { target_type: 'execution', trace_id: traceId };
    await newFeedback(api, project, { ...target, ...said[opinion] });
  };
  for (let start = 0; start < calls.length; start += 20) {
    await Promise.all(calls.slice(start, start + 20).map(give));
  }
}

async function store(project: ProjectOfTest, calls: readonly Call[]): Promise<void> {
  for (let start = 0; start < calls.length; start += 50) {
    const some = calls.slice(start, start + 50);
    await sendSpans(
      api,
      project.key,
      some.flatMap(({ spans }) => spans),
    );
  }
  const query = { include_total: true, limit: 1, from: new Date(nowMs - 60 * 60_000).toISOString() };
  await until('all executions', 30_000, async () => {
    const { body } = await listExecutions(api, project, query);
    return body.page.total === calls.length;
  });
  await giveOpinions(project, calls);
}

const kindsOf: Readonly<Record<Call['opinion'], readonly FeedbackKind[]>> = {
  corrected: ['any', 'corrected', 'negative'],
  positive: ['any', 'positive'],
  negative: ['any', 'negative'],
  commented: ['any'],
  none: [],
};

/** What the rows must be, computed from the population alone. `calls` are newest first. */
function truthOf(calls: readonly Call[], kind: FeedbackKind, limit: number) {
  const dropped: Record<string, number> = {};
  const drop = (reason: string) => {
    dropped[reason] = (dropped[reason] ?? 0) + 1;
  };
  const rows = new Map<string, object>();
  for (const call of calls.filter(({ opinion }) => kindsOf[opinion].includes(kind))) {
    if (rows.size >= limit) break;
    if (call.place === 'incomplete' || call.place === 'nowhere') drop('missing_variables');
    else if (rows.has(call.inputs.ticket)) drop('duplicate');
    else rows.set(call.inputs.ticket, rowOf(call));
  }
  return { rows: [...rows.values()], dropped };
}

function rowOf({ inputs, opinion, output }: Call) {
  if (opinion === 'positive') return { inputs, expected: output, weakLabel: true };
  const quoted = `Of the output ${JSON.stringify(output)}: `;
  if (opinion === 'corrected') {
    return { inputs, expected: 'as it should be', weakLabel: false, note: `${quoted}it is not good.` };
  }
  return { inputs, weakLabel: false, note: quoted + (opinion === 'commented' ? 'too long' : 'it is not good.') };
}

describe('rowsFromExecutions', () => {
  test('of 300 calls over several pages, gives the rows and the reasons that the population says', async () => {
    const random = seededRandom();
    const [project, other] = await Promise.all([newProject(api), newProject(api)]);
    const [promptId, otherPrompt, foreign] = await Promise.all([
      aPrompt(project, 'Sort'),
      aPrompt(project, 'Other'),
      aPrompt(other, 'Sort'),
    ]);
    const calls = Array.from({ length: 300 }, (_, index) => aCall(promptId, random, index));
    const othersCalls = Array.from({ length: 20 }, (_, index) => aCall(otherPrompt, random, index));
    const foreignCalls = Array.from({ length: 20 }, (_, index) => aCall(foreign, random, index));
    await Promise.all([store(project, [...calls, ...othersCalls]), store(other, foreignCalls)]);
    for (const feedback of ['any', 'positive', 'negative', 'corrected'] as const) {
      const { rows, dropped } = await rowsOf(project, promptId, { feedback });
      expect({ feedback, rows, dropped }).toEqual({ feedback, ...truthOf(calls, feedback, 1_000) });
    }
    const few = await rowsOf(project, promptId, { limit: 7 });
    expect({ rows: few.rows, dropped: few.dropped }).toEqual(truthOf(calls, 'any', 7));
    const [from, to] = [149, 50].map((s) => new Date(nowMs - 10 * 60_000 - s * 1_000).toISOString());
    const some = await rowsOf(project, promptId, { from: from ?? '', to: to ?? '' });
    expect({ rows: some.rows, dropped: some.dropped }).toEqual(truthOf(calls.slice(51, 150), 'any', 1_000));
  }, 120_000);

  test('gives no row of a call that the service made for an optimization, even if it names the prompt', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    const own = aCall(promptId, () => 0, 0, { 'promptlane.metadata.source': 'optimization' });
    await store(project, [own]);
    expect(own).toMatchObject({ place: 'attributes', opinion: 'corrected' });
    expect(await rowsOf(project, promptId)).toMatchObject({ rows: [], dropped: { own_call: 1 } });
  });

  test('reads variables and input of POST executions, and tells which expected outputs are weak', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    const common = { prompt_id: promptId, model: 'house-model' };
    const byVariables = { ticket: 'late parcel', user: { name: 'Ada', years: 41 }, tone: ['kind'] };
    const bodies = [
      { ...common, variables: byVariables, input: 'rendered', output: 'P1', started_at: isoBefore(1) },
      { ...common, input: { ticket: 't', user: { name: 'Bo' } }, output: { queue: 'P2' }, started_at: isoBefore(2) },
      { ...common, input: { ticket: 't', user: { name: 'Cy' }, more: 1 }, output: 'P3', started_at: isoBefore(3) },
    ];
    for (const body of bodies) {
      const { trace_id } = await storeExecution(api, project, body);
      await newFeedback(api, project, { target_type: 'execution', trace_id, rating: 'up' });
    }
    const { rows, dropped, warnings } = await rowsOf(project, promptId);
    expect(rows).toEqual([
      { inputs: byVariables, expected: 'P1', weakLabel: true },
      { inputs: { ticket: 't', user: { name: 'Bo' } }, expected: '{"queue":"P2"}', weakLabel: true },
    ]);
    expect(dropped).toEqual({ missing_variables: 1 });
    expect(warnings).toEqual([
      {
        code: 'executions_missing_variables',
        message: '1 executions with feedback give no row: they do not have all variables of the prompt',
      },
      { code: 'weak_labels', message: expect.stringContaining('2 of 2 rows') },
    ]);
  });

  test('of an execution with several calls, uses only feedback that names the call', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    const [first, second] = [1, 2].map((number) => ({
      ...{
        name: `call ${number}`,
        kind: 'llm',
        model: 'house-model',
        prompt_id: promptId,
        span_id: `${number}`.repeat(16),
      },
      ...{ variables: { ticket: `ticket ${number}`, user: { name: 'Ada' } }, output: `${number}` },
    }));
    const { trace_id } = await storeExecution(api, project, { spans: [first, second], output: 'both' });
    await newFeedback(api, project, { target_type: 'execution', trace_id, correction: 'of the whole' });
    const span_id = '2'.repeat(16);
    await newFeedback(api, project, { target_type: 'span', trace_id, span_id, correction: 'of the second' });
    const { rows, dropped } = await rowsOf(project, promptId);
    expect(rows).toEqual([
      { inputs: { ticket: 'ticket 2', user: { name: 'Ada' } }, expected: 'of the second', weakLabel: false },
    ]);
    expect(dropped).toEqual({ ambiguous_feedback: 1 });
  });

  test('of executions with more calls than are looked at, looks at those that the feedback names', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    const stores = { clickhouse, postgres: api.postgres };
    await storeRatedCalls(stores, project, { promptId, traces: 1_700, calls: 30, span: 1 });
    const wanted = { projectId: project.id as ProjectId, promptId, filter: { feedback: 'any' } } as const;
    const found = await findRatedCalls(stores, { ...wanted, turn: (read) => read(), isOver: () => false });
    expect(found.calls).toHaveLength(5_000);
    expect(found.calls.filter(({ spanId }) => spanId === storedSpanId(1))).toHaveLength(1_700);
    expect(found.calls.filter(({ isOnly }) => isOnly)).toEqual([]);
    expect(found.warnings).toMatchObject([{ code: 'feedback_truncated' }]);
  });

  test('of calls that no feedback is about, reads no texts; each statement leaves processor time to others', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    await storeRatedCalls({ clickhouse, postgres: api.postgres }, project, { promptId, traces: 2, calls: 60 });
    const counting = countStatements();
    const several = await rowsOf(project, promptId, {}, counting.clickhouse);
    expect([several.rows, several.dropped]).toEqual([[], { ambiguous_feedback: 120 }]);
    // The one that finds the calls.
    expect(counting.settings).toHaveLength(1);

    const only = await newProject(api);
    await storeRatedCalls({ clickhouse, postgres: api.postgres }, only, { promptId, traces: 2, calls: 1 });
    expect((await rowsOf(only, promptId, {}, counting.clickhouse)).dropped).toEqual({ not_stored: 2 });
    expect(counting.settings).toHaveLength(3);
    for (const settings of counting.settings) expect(settings).toMatchObject(backgroundSettings);
  });

  test('of more feedback on an execution than is looked at, the newest counts', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await api.postgres.raw(
      `insert into feedback (id, project_id, target_type, target_key, trace_id, name, user_id, rating, comment, author_type, created_at)
       select 'fbk_' || gen_random_uuid(), :projectId, 'execution', :traceId, :traceId, 'n', 'u' || n, case when n > 1000 then 'down' else 'up' end,
         'of ' || n, 'admin', now() - n * interval '1 second'
       from generate_series(1, 2000) as n`,
      { projectId: project.id, traceId },
    );
    const said = await findSaidOf(api.postgres, project.id, [{ traceId }]);
    expect(said.get(traceId)).toMatchObject({ score: 1, correction: null });
  });

  test('leaves out a call whose variables or output are over 64 KiB', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    const large = 'x'.repeat(65_537);
    const user = { name: 'Ada' };
    const common = { prompt_id: promptId, model: 'house-model' };
    for (const body of [
      { ...common, variables: { ticket: large, user }, output: 'P1' },
      { ...common, variables: { ticket: 't', user }, output: large },
    ]) {
      const { trace_id } = await storeExecution(api, project, body);
      await newFeedback(api, project, { target_type: 'execution', trace_id, rating: 'up' });
    }
    expect(await rowsOf(project, promptId)).toMatchObject({ rows: [], dropped: { too_large: 2 } });
  });

  test('other work runs while texts of the largest calls are converted', async () => {
    const project = await newProject(api);
    const list = `[${'[],'.repeat(20_000)}0]`;
    const attributes = { 'promptlane.input': `{"a":${list}}`, 'gen_ai.output.messages': list };
    const trace = { traceId: newTraceId() };
    const spans = Array.from({ length: 20 }, () => aSpan({ ...trace, attributes }));
    await sendSpans(api, project.key, spans);
    let rests = 0;
    const rest = () => {
      rests++;
      return oneTurn();
    };
    const read = (paced: Rest) => readCallTexts(clickhouse, project.id, spans, paced);
    await until('all spans', 10_000, async () => (await read(oneTurn)).length === spans.length);
    const texts = await read(rest);
    expect(texts[0]?.input).toEqual({ a: JSON.parse(list) });
    expect(rests).toBeGreaterThan(5);
  });

  test('of a large trace, reads only rows near the spans that are asked for', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    await storeSpans(clickhouse, project, { traceId, count: 100_000 });
    const bound = { max_rows_to_read: '20000', use_skip_indexes_on_data_read: 0 } as const;
    const reading = stoppable(clickhouse, new AbortController().signal, bound);
    const span = { traceId, spanId: storedSpanId(70_000) };
    expect(await readCallTexts(reading, project.id, [span], oneTurn)).toMatchObject([span]);
  });

  test('a window that begins before 1970 or ends after 2554 is one without this bound', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    const call = { ...aCall(promptId, () => 0, 0), opinion: 'corrected' as const };
    await store(project, [call]);
    const [before, after] = ['1905-01-01T00:00:00Z', '9999-12-31T23:59:59Z'];
    expect(await rowsOf(project, promptId, { from: before, to: after })).toMatchObject({ rows: [rowOf(call)] });
    expect(await rowsOf(project, promptId, { to: before })).toMatchObject({ rows: [] });
    expect(await rowsOf(project, promptId, { from: after })).toMatchObject({ rows: [] });
  });

  test('ends when its caller leaves', async () => {
    const project = await newProject(api);
    const call = rowsFromExecutions(
      { postgres: api.postgres, clickhouse, rowsLane },
      {
        project: { projectId: project.id as ProjectId, workspaceId: 'wsp_own' },
        ...{ prompt: { id: 'prm_none' }, variables, filter: { feedback: 'any', limit: 10 }, rest: oneTurn },
        waiter: { signal: AbortSignal.abort(new Error('left')) },
      },
    );
    await expect(call).rejects.toThrow('left');
  });

  test('leaves its place to another workspace after each page', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    await storeRatedCalls({ clickhouse, postgres: api.postgres }, project, {
      promptId,
      traces: 400,
      calls: 1,
      span: 1,
    });
    const lane = new FairLane({ name: 'rows', capacity: 1, perKey: 1, waitingPerKey: 1, waitingMax: 2 });
    const turns: string[] = [];
    const run = lane.run.bind(lane);
    lane.run = (key, work, options) =>
      run(
        key,
        () => {
          turns.push(key);
          if (turns.length === 1) void run('wsp_other', async () => void turns.push('wsp_other'));
          return work();
        },
        options,
      );
    await rowsFromExecutions(
      { postgres: api.postgres, clickhouse, rowsLane: lane },
      {
        project: { projectId: project.id as ProjectId, workspaceId: 'wsp_own' },
        ...{ prompt: { id: promptId }, variables, filter: { feedback: 'any', limit: 1_000 } },
        ...{ waiter: { signal: new AbortController().signal }, rest: oneTurn },
      },
    );
    expect(turns.slice(0, 3)).toEqual(['wsp_own', 'wsp_other', 'wsp_own']);
    expect(turns.length).toBeGreaterThan(8);
  });

  describe('with 100 calls', () => {
    const filter = { feedback: 'any', limit: 1_000 } as const;
    let project: ProjectOfTest;
    let promptId: string;
    let calls: Call[];
    const rowsOfRated = (count: number) =>
      truthOf(calls.filter(({ opinion }) => opinion !== 'none').slice(0, count), 'any', 1_000).rows;
    beforeAll(async () => {
      project = await newProject(api);
      promptId = await aPrompt(project, 'Sort');
      calls = Array.from({ length: 100 }, (_, index) => aCall(promptId, Math.random, index));
      await store(project, calls);
    });

    function read(lane: FairLane, msMax?: { findingMsMax: number; allMsMax: number }) {
      return rowsFromExecutions(
        { postgres: api.postgres, clickhouse, rowsLane: lane },
        {
          project: { projectId: project.id as ProjectId, workspaceId: 'wsp_own' },
          ...{ prompt: { id: promptId }, variables, filter, rest: oneTurn, ...(msMax && { msMax }) },
          waiter: { signal: new AbortController().signal },
        },
      );
    }

    test('all are rows, although finding them took all of its time', async () => {
      const lane = laneOf(async (_turn, work) => {
        const result = await work();
        await until('finding took its time', 1_000, () => performance.now() > endMs);
        return result;
      });
      const endMs = performance.now() + 200;
      const { rows, isCut } = await read(lane, { findingMsMax: 200, allMsMax: 60_000 });
      expect({ rows, isCut }).toEqual({ rows: rowsOfRated(100), isCut: false });
    });

    test.each([
      ['finding', { findingMsMax: 0, allMsMax: 60_000 }],
      ['reading', { findingMsMax: 60_000, allMsMax: 0 }],
    ])('says that it is cut when %s has no time', async (_what, msMax) => {
      const { rows, isCut, warnings } = await read(rowsLane, msMax);
      expect({ rows, isCut }).toEqual({ rows: [], isCut: true });
      expect(warnings).toMatchObject([{ code: 'rows_truncated' }]);
    });

    test('uses the rows so far when there is no turn for more', async () => {
      const busy = new RateLimitedError('workspace_busy', 'too many', { retryAfterS: 1 });
      const { rows, isCut } = await read(laneOf((turn, work) => (turn === 3 ? Promise.reject(busy) : work())));
      expect({ rows, isCut }).toEqual({ rows: rowsOfRated(50), isCut: true });
      await expect(read(laneOf((turn, work) => (turn === 2 ? Promise.reject(busy) : work())))).rejects.toBe(busy);
    });

    /** A lane whose turns go through `take`, which gets their number. */
    function laneOf(take: <T>(turn: number, work: () => Promise<T>) => Promise<T>): FairLane {
      const lane = createRowsLane(() => undefined);
      let turn = 0;
      lane.run = (_key, work) => take(++turn, async () => work());
      return lane;
    }
  });
});

describe('optimizePrompt without rows', () => {
  interface DryRun {
    plan: { rows: { train: number; val: number; holdout: number; dropped: number } };
    warnings: { code: string }[];
  }
  const dryRun = (project: ProjectOfTest, promptId: string) =>
    api.call<DryRun>('optimizePrompt', {
      ...{ params: { project_id: project.id, prompt_id: promptId }, key: project.key },
      body: { dry_run: true, target: { model: 'house-model' } },
    });
  const recorded = async (project: ProjectOfTest, promptId: string, variables: object) => {
    const { trace_id } = await storeExecution(api, project, { prompt_id: promptId, model: 'house-model', variables });
    await newFeedback(api, project, { target_type: 'execution', trace_id, correction: 'P1' });
  };

  test('plans with the executions that have feedback, and names those that it cannot use', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    for (let index = 0; index < 10; index++) {
      await recorded(project, promptId, { ticket: `ticket ${index}`, user: { name: 'Ada' } });
    }
    await recorded(project, promptId, { ticket: 'without a user' });
    const { status, body, text } = await dryRun(project, promptId);
    expect(status, text).toBe(200);
    const { train, val, holdout, dropped } = body.plan.rows;
    expect({ rows: train + val + holdout, dropped }).toEqual({ rows: 10, dropped: 1 });
    expect(body.warnings.map(({ code }) => code)).toContain('executions_missing_variables');
  });

  test('with too few of them, says how many there are and why', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project, 'Sort');
    expectProblem(await dryRun(project, promptId), 422, 'insufficient_data');
    await recorded(project, promptId, { ticket: 'without a user' });
    const { detail } = expectProblem(await dryRun(project, promptId), 422, 'insufficient_data');
    expect(detail).toMatch(
      /there are 0 from executions with feedback \(any\)\. 1 executions .* do not have all variables/,
    );
  });
});

const isoBefore = (minutes: number) => new Date(nowMs - minutes * 60_000).toISOString();
