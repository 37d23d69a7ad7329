import { expect } from 'vitest';
import { insertExecutions } from '../../src/domains/summaries/execution-row.ts';
import type { SummarizedExecution } from '../../src/domains/summaries/index.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { ProjectOfTest, Query, TestApi } from './api.ts';
import { newTraceId, nowNano } from './spans.ts';
import { type ExecutionWire, listExecutions } from './traces.ts';

const nanosPerMs = 1_000_000n;

/** Returns an execution as the worker stores it. It took 100 ms and ended now. Other values are empty unless given. */
export function anExecution(
  project: Pick<ProjectOfTest, 'id'>,
  given: Partial<SummarizedExecution> = {},
): SummarizedExecution {
  const startUnixNano = given.startUnixNano ?? nowNano(-100);
  return {
    projectId: project.id,
    traceId: newTraceId(),
    version: 1n,
    receivedAtMs: Date.now(),
    normalizerVersion: 1,
    retentionDays: 0,
    startUnixNano,
    endUnixNano: startUnixNano + 100n * nanosPerMs,
    name: 'work',
    status: 'ok',
    complete: true,
    spansSentOnce: true,
    spanCount: 1,
    errorCount: 0,
    models: [],
    providers: [],
    prompts: [],
    usage: noUsage,
    costNanoUsd: 0n,
    unpricedSpans: 0,
    totalsTruncated: false,
    omitted: { models: 0, providers: 0, prompts: 0, tags: 0 },
    sessionId: '',
    userId: '',
    environment: '',
    service: '',
    tags: [],
    inputPreview: '',
    outputPreview: '',
    calls: [],
    errors: [],
    ...given,
  };
}

export const noUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  totalTokens: 0,
};

/** Returns a function that stores executions without the queue. They are listed when it resolves. */
export function connectExecutions(api: TestApi): {
  clickhouse: ClickHouse;
  store: (executions: readonly SummarizedExecution[]) => Promise<void>;
  close: () => Promise<void>;
} {
  const clickhouse = connectClickHouse(api.config.clickhouseUrl);
  return {
    clickhouse,
    store: (executions) => insertExecutions(clickhouse, executions),
    close: () => clickhouse.close(),
  };
}

/** Reads all pages of a list. `during` runs at the same time as each page. */
export async function walkExecutions(
  api: TestApi,
  project: ProjectOfTest,
  query: Query,
  during: () => Promise<void> = async () => undefined,
): Promise<ExecutionWire[]> {
  const executions: ExecutionWire[] = [];
  let cursor: string | null = null;
  do {
    const page: ReturnType<typeof listExecutions> = listExecutions(api, project, {
      ...query,
      ...(cursor && { cursor }),
    });
    const [{ status, text, body }] = await Promise.all([page, during()]);
    expect(status, text).toBe(200);
    executions.push(...body.data);
    cursor = body.page.next_cursor;
  } while (cursor !== null);
  return executions;
}
