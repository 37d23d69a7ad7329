import type { ProjectId } from '../../../lib/ids.ts';
import type { Rest } from '../../../lib/pace.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import type { PromptCall } from '../../analytics/index.ts';
import { type CallTexts, readCallTexts } from '../../executions/index.ts';
import { findSaidOf, type SaidOfTarget, targetKey } from '../../feedback/index.ts';

/** Spans above a call that are searched for its variables. */
const ancestorsMax = 8;

/** A call with its texts and feedback. */
export interface RatedCall {
  /** The span of the call, then those above it, as far as they were needed. Empty if it is not stored, or without `said`. */
  spans: readonly CallTexts[];
  /** Undefined if the feedback of its execution is not about this call alone. */
  said: SaidOfTarget | undefined;
}

/**
 * Reads the feedback of some calls, and the texts of those that have some, in their order. Spans above a call are read
 * while no span below them has variables.
 * @throws UnavailableError while a store is unavailable
 */
export async function readRatedCalls(
  { clickhouse, postgres }: { clickhouse: ClickHouse; postgres: Postgres },
  projectId: ProjectId,
  calls: readonly PromptCall[],
  rest: Rest,
): Promise<RatedCall[]> {
  const targets = calls.flatMap(({ traceId, spanId, isOnly }) => [
    { traceId, spanId },
    ...(isOnly ? [{ traceId }] : []),
  ]);
  const said = await findSaidOf(postgres, projectId, targets);
  const saidOf = (call: PromptCall) =>
    together(said.get(targetKey(call)), call.isOnly ? said.get(call.traceId) : undefined);
  const rated = calls.filter((call) => saidOf(call) !== undefined);
  const chains = await readChains(clickhouse, projectId, rated, rest);
  const chainOf = new Map(rated.map((call, index) => [call, chains[index]]));
  return calls.map((call) => ({ spans: chainOf.get(call) ?? [], said: saidOf(call) }));
}

/** What was said about the call itself comes first. */
function together(ofCall: SaidOfTarget | undefined, ofExecution: SaidOfTarget | undefined): SaidOfTarget | undefined {
  if (ofCall === undefined || ofExecution === undefined) return ofCall ?? ofExecution;
  return {
    score: ofCall.score ?? ofExecution.score,
    correction: ofCall.correction ?? ofExecution.correction,
    comment: ofCall.comment ?? ofExecution.comment,
  };
}

async function readChains(
  clickhouse: ClickHouse,
  projectId: ProjectId,
  calls: readonly PromptCall[],
  rest: Rest,
): Promise<CallTexts[][]> {
  const chains: CallTexts[][] = calls.map(() => []);
  let wanted = calls.map(({ traceId, spanId }, chain) => ({ traceId, spanId, chain }));
  for (let level = 0; level <= ancestorsMax && wanted.length > 0; level++) {
    const texts = await readCallTexts(clickhouse, projectId, wanted, rest);
    const bySpan = new Map(texts.map((each) => [targetKey(each), each]));
    wanted = wanted.flatMap(({ chain, ...span }) => {
      const found = bySpan.get(targetKey(span));
      if (found === undefined) return [];
      chains[chain]?.push(found);
      const isEnough = found.variables.size > 0 || found.cut.variables || found.parentSpanId === '';
      return isEnough ? [] : [{ traceId: found.traceId, spanId: found.parentSpanId, chain }];
    });
  }
  return chains;
}
