import type { z } from 'zod';
import { NotFoundError } from '../../lib/errors.ts';
import type { FairLane } from '../../lib/fair-lane.ts';
import type { ProjectId } from '../../lib/ids.ts';
import { sharedThird } from '../../lib/pace.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findPromptMentions } from '../prompt-links/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import { noUsage } from '../spans/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import { compareVersions } from './compare-versions.ts';
import { type FeedbackOfPrompts, groupFeedback, type PromptFeedback } from './feedback-of-prompt.ts';
import {
  callsToWire,
  feedbackToWire,
  type promptAnalyticsQuery,
  type promptAnalyticsSchema,
} from './prompt-analytics.schema.ts';
import {
  type CallRow,
  type CallSums,
  type CallsOfPrompt,
  type Grouping,
  readCallKeys,
  readCalls,
} from './prompt-analytics-queries.ts';
import { keyToWire, seriesOf } from './series-of-calls.ts';
import { bucketsOf, readDataAsOf, windowToWire } from './window.ts';

/** Groups of one response, and buckets of all its groups together. */
const groupsMax = 100;
const seriesMax = 5_000;
/** Feedback that is joined. The traces are one parameter, which ClickHouse takes up to 128 KiB, 32 bytes each. */
const feedbackMax = 3_500;

export interface PromptAnalyticsDeps {
  clickhouse: ClickHouse;
  postgres: Postgres;
  prompts: ItemCache<PromptContent>;
  feedback: FeedbackOfPrompts;
  /** Shared by all workspaces. */
  lane: FairLane;
  /** The time of receipt of the oldest body that is not stored yet, in ms since the epoch. */
  oldestUnstoredMs: (workspaceId: string) => Promise<number | undefined>;
}

export interface PromptAnalyticsRequest {
  projectId: ProjectId;
  workspaceId: string;
  /** Id or slug. */
  idOrSlug: string;
  signal: AbortSignal;
  query: z.output<typeof promptAnalyticsQuery>;
}

/**
 * Returns how often a prompt was called in a time window, what its calls cost and how well they did:
 * in all, for each group, and for each bucket of a group. A call counts once, when it started.
 * @throws NotFoundError for an unknown prompt or a compared version that does not exist
 * @throws MalformedError for a window that is empty or too long, or has too many buckets
 * @throws RateLimitedError or UnavailableError when the lane is full, or a store is unavailable
 */
export async function getPromptAnalytics(
  deps: PromptAnalyticsDeps,
  { projectId, workspaceId, idOrSlug, signal, query }: PromptAnalyticsRequest,
): Promise<z.infer<typeof promptAnalyticsSchema>> {
  const nowMs = Date.now();
  const buckets = bucketsOf(query, nowMs);
  const item = await deps.prompts.read({ projectId, workspaceId }, idOrSlug);
  const versions = comparedVersions(item, query.compare);
  const ofItem = { promptId: item.id, ...buckets.window, max: feedbackMax + 1 };
  const [dataAsOf, [mentions], feedback] = await Promise.all([
    readDataAsOf(() => deps.oldestUnstoredMs(workspaceId), nowMs),
    findPromptMentions(deps.postgres, projectId, [item.id]),
    deps.feedback.ofPrompt({ workspaceId, projectId }, ofItem, { signal }),
  ]);
  const groupsInSeries = Math.max(1, Math.floor(seriesMax / buckets.starts.length));
  const calls = { projectId, window: buckets.window, mentions: mentions ?? { id: item.id, names: [], keys: [] } };
  const clickhouse = stoppable(deps.clickhouse, signal);
  const read = await deps.lane.run(
    workspaceId,
    () =>
      readAll({ ...deps, clickhouse }, calls, {
        ...{ item, grouping: query.group_by, starts: buckets.starts, versions: versions ?? [] },
        groupsInSeries,
        feedback: feedback.slice(0, feedbackMax),
      }),
    { waiter: { signal } },
  );
  const groups = read.rows.filter((row) => row.allBuckets === 1 && row.allKeys === 0);
  groups.sort((a, b) => b.executions - a.executions || (a.key < b.key ? -1 : 1));
  const kept = groups.slice(0, groupsMax);
  const inSeries = { rows: read.rows, groups: kept.slice(0, groupsInSeries), buckets, grouping: query.group_by };
  const series = await seriesOf(inSeries, sharedThird(workspaceId));
  const ofVersion = (version: number) => {
    const sums = read.versions.rows.find((row) => row.allBuckets === 1 && row.key === String(version));
    return {
      sums: sums ?? nothing,
      wire: withFeedback(sums, read.versions.feedback.byKey.get(String(version))),
    };
  };
  return {
    window: windowToWire(buckets.window),
    granularity: buckets.granularity,
    tz: query.tz,
    group_by: query.group_by,
    totals: withFeedback(read.total, read.feedback.all),
    groups: kept.map((row) => ({
      key: keyToWire(query.group_by, row.key),
      ...withFeedback(row, read.feedback.byKey.get(row.key)),
    })),
    groups_omitted: (groups[0]?.groups ?? 0) - kept.length,
    series,
    ...(versions !== undefined && {
      comparison: compareVersions(ofVersion(versions[0]), ofVersion(versions[1])),
    }),
    feedback_truncated: feedback.length > feedbackMax,
    data_as_of: dataAsOf,
  };
}

type Feedback = Awaited<ReturnType<typeof groupFeedback>>;

interface Read {
  rows: CallRow[];
  total: CallSums | undefined;
  feedback: Feedback;
  /** The sums by version, if a comparison needs them. */
  versions: { rows: CallRow[]; feedback: Feedback };
}

/** Reads the sums by group, and by version if a comparison or the sum of all calls needs them. */
async function readAll(
  { clickhouse }: { clickhouse: ClickHouse },
  calls: CallsOfPrompt,
  request: {
    item: Item;
    grouping: Grouping;
    starts: readonly number[];
    groupsInSeries: number;
    /** The versions that are compared. */
    versions: readonly number[];
    feedback: readonly PromptFeedback[];
  },
): Promise<Read> {
  const { item, starts, feedback, groupsInSeries } = request;
  const labels = [...item.labels, { label: 'latest', version: item.latestVersion }];
  const readGroups = async (grouping: Grouping) => {
    const [rows, keyed] = await Promise.all([
      readCalls(clickhouse, calls, {
        ...{ grouping, starts, labels },
        read: { groupsMax, groupsInSeries, groupKeys: grouping === 'version' ? request.versions.map(String) : [] },
      }),
      readCallKeys(clickhouse, calls, { grouping, labels, feedback }),
    ]);
    const wanted = new Set([...rows.map(({ key }) => key), ...request.versions.map(String)]);
    const grouped = groupFeedback(feedback, keyed, {
      isWanted: (key) => wanted.has(key),
      keysOfVersion: (version) => keysOf(grouping, version, labels),
    });
    return { rows, feedback: await grouped };
  };
  const groups = readGroups(request.grouping);
  const needsVersions = request.grouping === 'label' || request.versions.length > 0;
  const byVersion = request.grouping === 'version' || !needsVersions ? groups : readGroups('version');
  const [grouped, versions] = await Promise.all([groups, byVersion]);
  return {
    ...grouped,
    total: versions.rows.find(({ allBuckets, allKeys }) => allBuckets === 1 && allKeys === 1),
    versions,
  };
}

/** The groups of feedback on a version of the prompt. It says nothing of a model or environment. */
function keysOf(
  grouping: Grouping,
  version: number | null,
  labels: readonly { label: string; version: number }[],
): string[] {
  if (version === null) return [];
  if (grouping === 'version') return [String(version)];
  return grouping === 'label' ? labels.filter((each) => each.version === version).map(({ label }) => label) : [];
}

function withFeedback(sums: CallSums | undefined, feedback: Parameters<typeof feedbackToWire>[0]) {
  return { ...callsToWire(sums), feedback: feedbackToWire(feedback) };
}

function comparedVersions(item: Item, compare: string | undefined): readonly [number, number] | undefined {
  if (compare === undefined) return undefined;
  const [a = 0, b = 0] = compare.split(',').map(Number);
  const unknown = [a, b].find((version) => version > item.latestVersion);
  if (unknown === undefined) return [a, b];
  throw new NotFoundError(
    'version_not_found',
    `The prompt has no version ${unknown}. Its newest version is ${item.latestVersion}`,
  );
}

const nothing: CallSums = {
  ...{ executions: 0, traces: 0, errors: 0, users: 0, priced: 0, unpriced: 0, costUnknown: 0, cost: '0', costP95: 0 },
  ...noUsage(),
  ...{ latencyMs: [], timed: 0, ttftMs: [], firstNano: '0', lastNano: '0' },
  ...{ logLatency: 0, logLatencySquares: 0, logPriced: 0, logCost: 0, logCostSquares: 0 },
};
