/**
 * The names of everything that is kept in Redis.
 *
 * In a Redis Cluster, the text in braces decides which node has a key, and a script or a transaction
 * can use keys of one node only. So keys that are used together have the same braces. One Redis
 * ignores them. The name of a tenant's key begins with the tenant; a name without a tenant holds no
 * data of tenants.
 */

/**
 * Everything between the receipt of a body and the summary of its traces: a body, its job, the counts
 * that change with it and the list of summaries are stored together or not at all.
 */
const ingest = '{ingest}';

/**
 * Returns the prefix of the keys of a queue. Queues whose names begin with the same word are used
 * together.
 */
export function queuePrefix(queue: string): string {
  return `{${queue.split('-')[0]}}`;
}

/** Returns the key of a received body that waits for its job. The job id is a hash, so the key is short. */
export function bodyKey(projectId: string, jobId: string): string {
  return `${projectId}:${ingest}:body:${jobId}`;
}

/** Matches every {@link bodyKey}, for SCAN. */
export const bodyKeyPattern = `*:${ingest}:body:*`;

/** Returns the components of a {@link bodyKey}, or undefined for any other key. */
export function parseBodyKey(key: string): { projectId: string; jobId: string } | undefined {
  const [projectId, slot, middle, jobId] = key.split(':');
  return slot === ingest && middle === 'body' && projectId && jobId ? { projectId, jobId } : undefined;
}

/** What follows the workspace in a {@link backlogKey}, for scripts. */
export const backlogSuffix = `:${ingest}:backlog`;

/**
 * Returns the key of the hash that counts the unfinished bodies of a workspace: `bytes` in Redis,
 * their cost in each lane, and the bytes of those received in each minute.
 */
export function backlogKey(workspaceId: string): string {
  return workspaceId + backlogSuffix;
}

/** What stands between the workspace and a minute in the key that counts its finished bodies, for scripts. */
export const finishedInfix = `:${ingest}:finished:`;

/** Base time of the lanes, in seconds since the epoch. */
export const laneBaseKey = `promptlane:${ingest}:base`;

/** Memory that workers keep in reserve, on the node of the bodies. */
export const memoryReserveKey = `promptlane:${ingest}:memory-reserve`;

/** Returns the key of the number of stalls of a body that its worker has survived. */
export function survivedStallsKey(jobId: string): string {
  return `promptlane:${ingest}:survived-stalls:${jobId}`;
}

/** Hash of the projects with traces to summarize and their workspaces. */
export const summaryProjectsKey = `promptlane:${ingest}:summary-projects`;

/** Hash of the number of traces that each workspace has on its lists of summaries. */
export const summaryTracesKey = `promptlane:${ingest}:summary-traces`;

/**
 * Returns the keys of a project's list of traces whose spans are stored but whose execution is not
 * summarized yet (`summary-list.ts`). The list is as durable as the queue, and all workers share it. `due` has
 * the time when a trace is due, `rest` the time until which it must rest, `failures` the failures in a row.
 */
export function summaryKeys(projectId: string): { due: string; rest: string; failures: string } {
  const list = `${projectId}:${ingest}:summaries`;
  return { due: `${list}-due`, rest: `${list}-rest`, failures: `${list}-failures` };
}

/**
 * Returns the key of a rate of a workspace. The limits of ingestion are checked together with the
 * quota of spans.
 */
export function rateKey(workspaceId: string, rate: string): string {
  return `${slotOf(workspaceId, rate.startsWith('ingest'))}:rate:${rate}`;
}

/** Returns the key of the limit of feedback on one trace by tokens. */
export function feedbackRateKey(workspaceId: string, traceId: string): string {
  return rateKey(workspaceId, `feedback:${traceId}`);
}

/** Returns the key of the limit of an identity provider. */
export function webhookRateKey(provider: string): string {
  return `promptlane:rate:webhook:${provider}`;
}

/**
 * Returns the key of a monthly counter. A month is named like `2026-11`. Spans and ingested bytes are counted
 * with the bodies.
 */
export function usageKey(workspaceId: string, quota: string, month: { name: string }): string {
  return `${slotOf(workspaceId, quota === 'spans' || quota === 'ingested_bytes')}:usage:${quota}:${month.name}`;
}

/** Matches the {@link usageKey} of every workspace for a quota, or for all quotas with `*`; for SCAN. */
export function usageKeyPattern(quota: string, month: { name: string }): string {
  return `*:usage:${quota}:${month.name}`;
}

/** Returns the workspace of a {@link usageKey}. */
export function workspaceOfUsageKey(key: string): string {
  return key.slice(0, key.indexOf(':')).replace(/^\{|\}$/g, '');
}

const slotOf = (workspaceId: string, isIngestion: boolean) =>
  isIngestion ? `${workspaceId}:${ingest}` : `{${workspaceId}}`;

/** Returns the key that says that the counters of a month were rebuilt. */
export function usageRebuiltKey(month: { name: string }): string {
  return `promptlane:usage-rebuilt:${month.name}`;
}

/** Returns what the keys of the places of an LLM endpoint begin with. `hash` names the endpoint. */
export function llmPrefix(hash: string): string {
  return `promptlane:llm:{${hash}}`;
}

/** Returns the key of the number of failed tries of a body. */
export function bodyTriesKey(projectId: string, jobId: string): string {
  return `${projectId}:${ingest}:tries:${jobId}`;
}

/** Returns the key of the number of failed tries of an identity event. */
export function identityTriesKey(jobId: string): string {
  return `promptlane:identity-event-tries:${jobId}`;
}

/** Hash of the figures that workers report to the API. */
export const workerFiguresKey = 'promptlane:worker-figures';
/** Set of the projects that have sent log records. */
export const logProjectsKey = 'promptlane:log-projects';
/** Returns the key that exists while merges of a table of a ClickHouse server leave out the index of words. */
export const wordsLeftOutKey = (table: string) => `promptlane:words-left-out:${table}`;
/** The time up to which older spans have been compared with executions. */
export const summariesSweptKey = 'promptlane:summaries-swept-ms';
/** The milliseconds of the slice of spans that is compared next. */
export const summariesSliceKey = 'promptlane:summaries-slice-ms';

/** Hashes of the counters of all processes, for metrics. */
export const countsKeys = {
  identityEvents: 'promptlane:identity-event-counts',
  logs: 'promptlane:log-counts',
  summaries: 'promptlane:summary-counts',
  quotas: 'promptlane:quota-counts',
  budgets: 'promptlane:budget-counts',
  webhookAttempts: 'promptlane:webhook-attempt-counts',
} as const;
