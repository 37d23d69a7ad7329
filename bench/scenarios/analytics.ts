import { seedExecutions } from '../reads/seed-executions.ts';
import { type LatencySummary, round, summarizeLatencies } from '../statistics.ts';
import { untilMerged } from '../until-merged.ts';
import { type Bench, bodiesFor, createPrompt, prepareBodies, readPath } from './bench.ts';

/** 1.2 million spans. */
const traces = 120_000;
const spansPerTrace = 10;
const windowDays = 30;
/** Model calls of the measured prompt. */
const promptCalls = 100_000;
const spansPerS = 2_000;
const requestsPerRead = 60;
const warmUps = 5;
const msPerDay = 24 * 3_600_000;
/** Reads of one kind take at most this long, at the slowest that is of interest. */
const fedSecondsMax = 120;
const connectionsMax = 256;

/**
 * Reads stats, the analytics of a prompt and the budget with 1.2 million stored spans of 30 days, one
 * read at a time, and the four reads of a dashboard together. Then the same while spans arrive.
 */
export async function analytics(bench: Bench): Promise<object> {
  const promptId = await createPrompt(bench);
  bench.say(`  storing ${traces} traces of ${spansPerTrace} spans`);
  const startedAtMs = performance.now();
  await seedExecutions(bench.clickhouse, {
    projectId: bench.target.projectId,
    traces,
    spansPerTrace,
    windowMs: (windowDays - 1) * msPerDay,
    prompt: { id: promptId, calls: promptCalls },
  });
  const seedS = round((performance.now() - startedAtMs) / 1_000, 1);
  await untilMerged(bench.clickhouse);
  const atRest = await measureAll(bench, promptId);
  const seconds = bench.options.seconds ?? fedSecondsMax;
  await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
  const fed = bench.load.run('openLoop', { bodiesPerS: spansPerS / bench.options.spansPerBody, connectionsMax });
  const whileFed = await measureAll(bench, promptId);
  const { statuses } = await fed;
  return {
    parameters: { traces, spans_per_trace: spansPerTrace, prompt_calls: promptCalls, spans_per_s: spansPerS },
    seed_s: seedS,
    at_rest: atRest,
    while_fed: whileFed,
    answers_of_spans: statuses,
  };
}

type Reads = Readonly<Record<string, readonly string[]>>;

/** The paths below the project of each read. Those of a dashboard are requested at the same time. */
function readsOf(promptId: string): Reads {
  const from = `from=${new Date(Date.now() - windowDays * msPerDay).toISOString()}`;
  const stats = `stats?${from}&granularity=day`;
  const prompt = `prompts/${promptId}/analytics?${from}&granularity=day`;
  return {
    stats: [stats],
    'stats of a zone by the hour': [`stats?${from}&granularity=hour&tz=Asia/Kolkata`],
    'prompt analytics': [prompt],
    'prompt analytics by model': [`${prompt}&group_by=model`],
    budget: ['budget'],
    dashboard: ['executions?limit=50', stats, prompt, 'budget'],
  };
}

async function measureAll(bench: Bench, promptId: string): Promise<Record<string, LatencySummary>> {
  const measured: Record<string, LatencySummary> = {};
  for (const [name, paths] of Object.entries(readsOf(promptId))) {
    const latenciesMs = new Float64Array(requestsPerRead);
    for (let turn = -warmUps; turn < requestsPerRead; turn++) {
      const startedAtMs = performance.now();
      await Promise.all(paths.map((path) => readPath(bench, path)));
      if (turn >= 0) latenciesMs[turn] = performance.now() - startedAtMs;
    }
    const summary = summarizeLatencies(latenciesMs);
    measured[name] = summary;
    bench.say(`  ${name}: ${JSON.stringify(summary)}`);
  }
  return measured;
}
