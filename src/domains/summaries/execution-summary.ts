import type { Execution, SummarizedExecution } from './execution.ts';

/** These are strings, because JSON numbers are not exact beyond 2^53. */
type BigKey = 'version' | 'startUnixNano' | 'endUnixNano' | 'costNanoUsd';
type Summary = Omit<Execution, BigKey> &
  Record<Exclude<BigKey, 'costNanoUsd'>, string> & { costNanoUsd: string | null };

/**
 * Returns the column `executions.summary`: the row without its calls as JSON, so that a list reads one
 * column instead of thirty.
 */
export function writeSummary({ calls: _calls, errors: _errors, ...execution }: SummarizedExecution): string {
  const summary: Summary = {
    ...execution,
    version: execution.version.toString(),
    startUnixNano: execution.startUnixNano.toString(),
    endUnixNano: execution.endUnixNano.toString(),
    costNanoUsd: execution.costNanoUsd === null ? null : execution.costNanoUsd.toString(),
  };
  return JSON.stringify(summary);
}

/** Reads the column `executions.summary`. */
export function readSummary(json: string): Execution {
  const summary: Summary = JSON.parse(json);
  return {
    ...summary,
    version: BigInt(summary.version),
    startUnixNano: BigInt(summary.startUnixNano),
    endUnixNano: BigInt(summary.endUnixNano),
    costNanoUsd: summary.costNanoUsd === null ? null : BigInt(summary.costNanoUsd),
  };
}
