import { describe, expect, test } from 'vitest';
import { endRun } from '../../../src/domains/optimization/end-run.ts';
import { insertRunEvents } from '../../../src/domains/optimization/run-event-store.ts';
import { RunFeed } from '../../../src/domains/optimization/run-feed.ts';
import { newId } from '../../../src/lib/ids.ts';
import { inTransaction } from '../../../src/stores/postgres/transaction.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { expectProblem, newKey, newProject } from '../../support/api.ts';
import { type EventStream, followRun } from '../../support/event-stream.ts';
import {
  decision,
  finishedRun,
  newOptimizablePrompt,
  runRef,
  searchRun,
  takeRun,
  useOptimizationApi,
} from '../../support/optimization.ts';
import { until } from '../../support/until.ts';

type StartedRun = { run_id: string; prompt_id: string };

const it = useOptimizationApi();
const follow = (run: StartedRun, lastEventId?: string) =>
  followRun(it.api, it.project, { ...run, ...(lastEventId === undefined ? {} : { lastEventId }) });
const statusesOf = ({ events }: EventStream) =>
  events.flatMap(({ event, data }) => (event === 'state' ? [data.status] : []));
const idsOf = ({ events }: EventStream) => events.map(({ id }) => Number(id));
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Says something about a run, so that its readers hear it. */
const tell = (run: { run_id: string }, count = 1, more = {}) =>
  inTransaction(it.api.postgres, (transaction) =>
    insertRunEvents(
      transaction,
      runRef(it.project, run),
      Array.from({ length: count }, (_, index) => ({ type: 'progress' as const, data: { iteration: index, ...more } })),
    ),
  );

describe('200', () => {
  test('everything that happened comes first, then what happens, and the stream ends with the run', async () => {
    const run = await it.newRun();
    const stream = await follow(run);
    expect(stream.status).toBe(200);
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers.get('cache-control')).toContain('no-store');
    await until('the run waits', 5_000, () => statusesOf(stream).join() === 'queued');
    const { lease } = await searchRun(it.api, it.project, run);
    await until('the candidates have come', 5_000, () => stream.events.length >= 5);
    await endRun(it.api.postgres, lease, { state: 'completed', decision });
    await stream.ended;
    expect(statusesOf(stream)).toEqual(['queued', 'running', 'completed']);
    expect(idsOf(stream)).toEqual(numbers(1, 6));
    expect(stream.events.at(-1)).toEqual({
      ...{ id: '6', event: 'state' },
      data: { status: 'completed', outcome: 'improved', finish_reason: 'budget_calls', error: null },
    });
  });

  test('a run that has ended is told again, or from where the client left', async () => {
    const run = await it.newRun();
    await finishedRun(it.api, it.project, run);
    const all = await follow(run);
    await all.ended;
    expect(idsOf(all)).toEqual(numbers(1, 6));
    const rest = await follow(run, '4');
    await rest.ended;
    expect(idsOf(rest)).toEqual([5, 6]);
    expect(rest.events).toEqual(all.events.slice(4));
    const nothing = await follow(run, '6');
    await nothing.ended;
    expect(nothing.events).toEqual([]);
  });

  test.each(['words', '-1', '999', '1e3'])(
    'the number %s, which no event has, means from the start',
    async (lastEventId) => {
      const run = await it.newRun();
      await finishedRun(it.api, it.project, run);
      const stream = await follow(run, lastEventId);
      await stream.ended;
      expect(idsOf(stream)).toEqual(numbers(1, 6));
    },
  );

  test('many events at once come in their order, each once, to readers who came at different times', async () => {
    const run = await it.newRun();
    const { lease } = await takeRun(it.api, it.project, run);
    const early = await follow(run);
    await until('the first has seen the start', 5_000, () => early.events.length === 2);
    await tell(run, 700);
    const late = await follow(run, '100');
    await tell(run, 50);
    await endRun(it.api.postgres, lease, { state: 'failed', error: { code: 'internal', message: 'x' } });
    await Promise.all([early.ended, late.ended]);
    expect(idsOf(early)).toEqual(numbers(1, 753));
    expect(idsOf(late)).toEqual(numbers(101, 753));
  });

  test('readers who leave give their places back, and nobody follows the run any more', async () => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    const run = await startIn(project, prompt.id);
    for (let round = 0; round < 3; round++) {
      const streams = await followers(project, run, 512);
      expect(countOf(streams, 200)).toBe(512);
      for (const stream of streams) stream.leave();
      await until('a place is free', 5_000, async () => {
        const next = await followRun(it.api, project, run);
        next.leave();
        return next.status === 200;
      });
    }
  });

  test('a key that is revoked reads nothing more', async () => {
    const run = await it.newRun();
    const key = await newKey(it.api, it.project.id, {});
    const [revoked, kept] = await Promise.all([followRun(it.api, { ...it.project, key: key.key }, run), follow(run)]);
    await until('both have the start', 5_000, () => revoked.events.length === 1 && kept.events.length === 1);
    const params = { project_id: it.project.id, key_id: key.id };
    await it.api.admin('revokeApiKey', { params }, 204);
    let hasEnded = false;
    void revoked.ended.then(() => {
      hasEnded = true;
    });
    await until('the stream has ended', 10_000, async () => {
      await tell(run);
      return hasEnded;
    });
    await tell(run);
    await until('the other has more', 5_000, () => kept.events.length > revoked.events.length);
    kept.leave();
  });

  test('a run that is deleted ends the stream', async () => {
    const run = await it.newRun();
    const stream = await follow(run);
    await until('the run waits', 5_000, () => stream.events.length === 1);
    await it.api.postgres('optimization_runs').where({ project_id: it.project.id, id: run.run_id }).delete();
    await stream.ended;
    expect(idsOf(stream)).toEqual([1]);
  });
});

describe('404', () => {
  test('an unknown run, and the run of another project', async () => {
    const run = await it.newRun();
    const params = { run_id: newId('opt') };
    expectProblem(await it.call('streamOptimizationEvents', run.prompt_id, { params }), 404, 'run_not_found');
    const project = await newProject(it.api);
    const { status } = await followRun(it.api, project, run);
    expect(status).toBe(404);
  });
});

describe('429', () => {
  test('one workspace has 512 streams at most, and the others have theirs', async () => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    const run = await startIn(project, prompt.id);
    const streams = await followers(project, run, 520);
    expect(countOf(streams, 200)).toBe(512);
    const refused = streams.find(({ status }) => status !== 200);
    await refused?.ended;
    expect(refused?.status).toBe(429);
    expect(JSON.parse(refused?.text() ?? '')).toMatchObject({ code: 'workspace_busy' });
    const other = await follow(await it.newRun());
    expect(other.status).toBe(200);
    for (const stream of [...streams, other]) stream.leave();
  });
});

/** Follows a run many times, a few at once, so that no connection waits for too long. */
async function followers(project: { id: string; key: string }, run: StartedRun, count: number) {
  const streams: EventStream[] = [];
  while (streams.length < count) {
    const batch = Math.min(64, count - streams.length);
    streams.push(...(await Promise.all(Array.from({ length: batch }, () => followRun(it.api, project, run)))));
  }
  return streams;
}

const countOf = (streams: readonly EventStream[], expected: number) =>
  streams.filter(({ status }) => status === expected).length;

async function startIn(project: { id: string; key: string }, promptId: string) {
  const params = { project_id: project.id, prompt_id: promptId };
  const answer = await it.optimize(promptId, {}, { params, key: project.key });
  expect(answer.status, answer.text).toBe(202);
  return answer.body;
}

describe('the feed', () => {
  test('reads once for a thousand readers of a run, and forgets a run that nobody follows', async () => {
    const run = await it.newRun();
    let statements = 0;
    it.api.postgres.on('query', ({ sql }: { sql: string }) => {
      if (/optimization_(events|runs)/.test(sql) && /event_seq as seq|select seq/.test(sql)) statements++;
    });
    const feed = new RunFeed({ postgres: it.api.postgres, logger: createLogger({ level: 'error', name: 'test' }) });
    const leaving = new AbortController();
    const seen = Array.from({ length: 1_000 }, () => 0);
    const readers = seen.map(async (_, index) => {
      for await (const event of feed.follow(runRef(it.project, run), 1, leaving.signal))
        if (event) seen[index] = event.seq;
    });
    await until('all have begun', 5_000, () => feed.followed === 1 && statements > 0);
    const before = statements;
    await tell(run, 3);
    await until('all have heard', 5_000, () => seen.every((seq) => seq === 4));
    expect(statements - before).toBeLessThan(20);
    leaving.abort();
    await Promise.all(readers);
    expect(feed.followed).toBe(0);
    feed.close();
  });

  test('holds at most 128 KiB of events at once, and tells each reader all in their order', async () => {
    const run = await it.newRun();
    const { lease } = await takeRun(it.api, it.project, run);
    const sizes: number[] = [];
    it.api.postgres.on('query-response', (found: unknown) => {
      if (/"iteration":/.test(JSON.stringify(found))) sizes.push(JSON.stringify(found).length);
    });
    const feed = new RunFeed({ postgres: it.api.postgres, logger: createLogger({ level: 'error', name: 'test' }) });
    const read = async (seen: number[], afterSeq: number) => {
      const { signal } = new AbortController();
      for await (const event of feed.follow(runRef(it.project, run), afterSeq, signal)) if (event) seen.push(event.seq);
    };
    const [early, late]: [number[], number[]] = [[], []];
    const reading = read(early, 0);
    await until('the first has seen the start', 5_000, () => early.length === 2);
    await tell(run, 20, { text: 'x'.repeat(30_000) });
    await tell(run, 1, { text: 'x'.repeat(300_000) });
    const readingLate = read(late, 2);
    await endRun(it.api.postgres, lease, { state: 'failed', error: { code: 'internal', message: 'x' } });
    await Promise.all([reading, readingLate]);
    feed.close();
    expect(early).toEqual(numbers(1, 24));
    expect(late).toEqual(numbers(3, 24));
    const large = sizes.filter((size) => size > 140_000);
    expect(new Set(large.map((size) => Math.floor(size / 10_000)))).toEqual(new Set([30]));
  });

  test('says something to a reader while nothing happens, and ends when the process does', async () => {
    const run = await it.newRun();
    const feed = new RunFeed({
      postgres: it.api.postgres,
      logger: createLogger({ level: 'error', name: 'test' }),
      heartbeatMs: 50,
    });
    const told: unknown[] = [];
    for await (const event of feed.follow(runRef(it.project, run), 1, new AbortController().signal)) {
      told.push(event);
      if (told.length === 3) feed.close();
    }
    expect(told).toEqual([undefined, undefined, undefined]);
    expect(feed.followed).toBe(0);
  });
});
