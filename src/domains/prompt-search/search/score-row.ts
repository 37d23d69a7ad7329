import { inSharedTurn } from '../../../lib/pace.ts';
import { retainedBytesOf } from '../../../lib/retained-bytes.ts';
import { combineScores, type MetricPart, type PreparedMetrics } from '../metrics/combine-scores.ts';
import type { JudgeMetric, MetricScore, ScoreInput } from '../metrics/metric.ts';
import { rowCallKey } from './call-keys.ts';
import type {
  CallOutcome,
  CandidateContent,
  Evaluation,
  ModelCall,
  Phase,
  Row,
  SearchConfig,
  SearchPorts,
} from './ports.ts';
import { renderRow } from './render-row.ts';

export interface ScoreDeps {
  ports: SearchPorts;
  target: SearchConfig['target'];
  metrics: PreparedMetrics;
}

/** One output to be made and scored. */
export interface RowTask {
  content: CandidateContent;
  candidateHash: string;
  row: Row;
  sampleIx: number;
  phase: Phase;
}

/** Parameters of a judge: its grade should not vary, and its reason is short. */
export const judgeParams = { temperature: 0, max_tokens: 400 } as const;

const judgeAttempts = 2;
/** Bytes of an expected value that metrics read on this thread: the longest output has as many. */
const expectedBytesMax = 256 * 1024;

/** A row that cannot be scored. */
interface RowError {
  error: string;
}

/**
 * Runs a candidate on a row and scores the output. A failed call, also of a judge, is the error of
 * the row, never a score.
 * @throws what `ports.call` throws
 */
export async function scoreRow(deps: ScoreDeps, task: RowTask): Promise<Evaluation> {
  const { ports, target } = deps;
  const rendered = await renderRow(ports, task.content, task.row);
  if ('problem' in rendered) return failedRow(task, { ok: false, code: 'render_failed', message: rendered.problem });
  const outcome = await ports.call({
    ...callOf(task),
    key: rowCallKey('task', target, { ...identityOf(task), slot: '' }),
    kind: 'task',
    model: target.model,
    messages: rendered.messages,
    params: target.params,
  });
  if (!outcome.ok) return failedRow(task, outcome);
  const scored = await scoreOutput(deps, task, outcome.result.text);
  const { text: output, latencyMs, inputTokens, outputTokens, costNanoUsd } = outcome.result;
  const billed = { output, latencyMs, inputTokens, outputTokens, costNanoUsd };
  if ('error' in scored) return { ...unscored(task), ...billed, error: scored.error };
  const total = combineScores(scored.parts);
  const objectives = Object.fromEntries(scored.parts.map(({ part, score }) => [part.name, score.score]));
  return { ...unscored(task), ...billed, score: total.score, feedback: total.feedback, objectives };
}

const identityOf = ({ candidateHash, row, sampleIx }: RowTask) => ({ candidateHash, rowKey: row.key, sampleIx });

const callOf = (task: RowTask) => ({ phase: task.phase, ...identityOf(task) });

function unscored(task: RowTask): Evaluation {
  return {
    ...identityOf(task),
    split: task.row.split,
    score: null,
    objectives: {},
    feedback: '',
    output: '',
    latencyMs: 0,
    inputTokens: 0,
    outputTokens: 0,
    costNanoUsd: 0n,
    error: null,
  };
}

function failedRow(task: RowTask, failure: CallOutcome & { ok: false }): Evaluation {
  return { ...unscored(task), error: `${failure.code}: ${failure.message}` };
}

/** All runs of a thread have one turn. */
const scoring = 'scoring of optimization runs';

async function scoreOutput(deps: ScoreDeps, task: RowTask, output: string) {
  const { expected, inputs, note } = task.row;
  const input: ScoreInput = { output, expected, inputs, note };
  const parts: { part: MetricPart; score: MetricScore }[] = [];
  const isLarge = retainedBytesOf(expected) > expectedBytesMax;
  const scoreBy = (part: MetricPart): MetricScore | Promise<MetricScore | RowError> => {
    const { metric, config } = part;
    if (metric.kind === 'judge') return judge(deps, task, { metric, part, input });
    if (metric.kind === 'apart' || isLarge) return deps.ports.score(config, input);
    return metric.score(input);
  };
  for (const part of deps.metrics.parts.filter((each) => each.applies(input))) {
    // Scoring takes up to 10 ms, and a replay gets all results at once.
    const score = await inSharedTurn(scoring, () => scoreBy(part));
    if ('error' in score) return score;
    if (!Number.isFinite(score.score)) return { error: `score_not_a_number: ${part.name} gave ${score.score}` };
    parts.push({ part, score });
  }
  return parts.length > 0 ? { parts } : { error: 'not_scorable: no metric applies to this row' };
}

/** Asks a judge, once more if its reply cannot be used. */
async function judge(
  deps: ScoreDeps,
  task: RowTask,
  { metric, part, input }: { metric: JudgeMetric; part: MetricPart; input: ScoreInput },
): Promise<MetricScore | RowError> {
  const model = { model: metric.model ?? deps.target.model, params: judgeParams };
  let reply = '';
  for (let attempt = 0; attempt < judgeAttempts; attempt++) {
    const slot = `${part.name}|${attempt}`;
    const call: ModelCall = {
      ...callOf(task),
      ...model,
      key: rowCallKey('judge', model, { ...identityOf(task), slot }),
      kind: 'judge',
      messages: metric.ask(input),
    };
    const outcome = await deps.ports.call(call);
    if (!outcome.ok) return { error: `${outcome.code}: ${outcome.message}` };
    reply = outcome.result.text;
    const score = metric.read(reply);
    if (score !== undefined) return score;
  }
  return { error: `judge_reply_unusable: ${part.name} got ${JSON.stringify(reply.slice(0, 200))}` };
}
