import { seedExecutions } from '../reads/seed-executions.ts';
import { type LatencySummary, round, summarizeLatencies } from '../statistics.ts';
import { untilMerged } from '../until-merged.ts';
import { type Bench, bodiesFor, createPrompt, prepareBodies, readPath } from './bench.ts';

/** 300,000, 1.2 and 3 million spans. */
const sizes = [30_000, 120_000, 300_000] as const;
const spansPerTrace = 10;
/** Executions of 50 spans, for hierarchies and timelines. They are stored first. */
const wide = { traces: 200, spansPerTrace: 50 } as const;
const windowDays = 30;
const msPerDay = 24 * 3_600_000;
/** Model calls of the measured prompt. */
const promptCalls = 100_000;
const spansPerS = 2_000;
const restSeconds = 30;
const fedSeconds = 90;
const warmUps = 3;
const connectionsMax = 256;

/** What one size of the project was measured with, and the latencies of each read. */
interface Size {
  spans: number;
  at_rest: Record<string, LatencySummary>;
  while_fed: Record<string, LatencySummary>;
}

/**
 * Reads lists, trees, stats and analytics of one project of 300,000 spans, then of 1.2 million, then of
 * 3 million: at rest, and while 2,000 spans arrive per second. The reads take turns, one at a time.
 */
export async function growth(bench: Bench): Promise<object> {
  const promptId = await createPrompt(bench);
  const seed = { projectId: bench.target.projectId, windowMs: (windowDays - 1) * msPerDay };
  const wideIds = await seedExecutions(bench.clickhouse, { ...seed, ...wide, first: 1_000_000 });
  const reads = readsOf(promptId, wideIds);
  const seconds = bench.options.seconds ?? fedSeconds;
  const measured: Size[] = [];
  let stored = 0;
  for (const traces of sizes) {
    bench.say(`  storing ${traces - stored} traces of ${spansPerTrace} spans`);
    await seedExecutions(bench.clickhouse, {
      ...{ ...seed, spansPerTrace, traces: traces - stored, first: stored },
      ...(stored === 0 && { prompt: { id: promptId, calls: promptCalls } }),
    });
    stored = traces;
    await untilMerged(bench.clickhouse);
    await measureFor(bench, reads, { turns: warmUps });
    const atRest = await measureFor(bench, reads, { seconds: Math.min(restSeconds, seconds) });
    await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
    const fed = bench.load.run('openLoop', { bodiesPerS: spansPerS / bench.options.spansPerBody, connectionsMax });
    const whileFed = await measureFor(bench, reads, { seconds: seconds - 1 });
    await fed;
    measured.push({ spans: traces * spansPerTrace, at_rest: atRest, while_fed: whileFed });
    for (const [name, summary] of Object.entries(whileFed)) {
      bench.say(`  ${name}: ${JSON.stringify({ rest: atRest[name], fed: summary })}`);
    }
  }
  return { parameters: { spans_per_s: spansPerS, seconds, prompt_calls: promptCalls, limit: 50 }, sizes: measured };
}

type Reads = Readonly<Record<string, (turn: number) => string>>;

/** The path below the project of each read. */
function readsOf(promptId: string, wideIds: readonly string[]): Reads {
  const from = `from=${new Date(Date.now() - windowDays * msPerDay).toISOString()}`;
  const list = (query: string) => () => `executions?limit=50&${from}&${query}`;
  const wideOf = (turn: number) => `executions/${wideIds[turn % wideIds.length]}`;
  return {
    'list, newest': list('sort=-started_at'),
    'list, sort -cost': list('sort=-cost'),
    'list, model': list('model=gpt-4.1'),
    'list, user_id': (turn) => list(`user_id=user_${turn % 5_000}`)(),
    'list, common attr': list('attr.enduser.plan=pro'),
    'list, common word': list('q=an'),
    'list, absent word': (turn) => list(`q=absent${turn}`)(),
    'hierarchy of 50 spans': (turn) => `${wideOf(turn)}/hierarchy`,
    'timeline of 50 spans': (turn) => `${wideOf(turn)}/timeline`,
    'stats of 30 days': () => `stats?${from}&granularity=day`,
    'prompt analytics': () => `prompts/${promptId}/analytics?${from}&granularity=day`,
  };
}

/** Requests every read in turn, either a number of times or until the seconds are over. */
async function measureFor(
  bench: Bench,
  reads: Reads,
  until: { turns: number } | { seconds: number },
): Promise<Record<string, LatencySummary>> {
  const latenciesMs = new Map<string, number[]>(Object.keys(reads).map((name) => [name, []]));
  const endsAtMs = 'seconds' in until ? performance.now() + until.seconds * 1_000 : Number.POSITIVE_INFINITY;
  const turns = 'turns' in until ? until.turns : Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < turns && performance.now() < endsAtMs; turn++) {
    for (const [name, pathOf] of Object.entries(reads)) {
      const startedAtMs = performance.now();
      await readPath(bench, pathOf(turn));
      latenciesMs.get(name)?.push(round(performance.now() - startedAtMs, 1));
    }
  }
  return Object.fromEntries(
    [...latenciesMs].map(([name, values]) => [name, summarizeLatencies(Float64Array.from(values))]),
  );
}
