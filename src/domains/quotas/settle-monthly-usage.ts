import type { Queue } from 'bullmq';
import { examineUnfinished } from '../../queue/unfinished-receipt.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import {
  countsKeys,
  usageKey,
  usageKeyPattern,
  usageRebuiltKey,
  workspaceOfUsageKey,
} from '../../stores/redis/names.ts';
import { scanKeys } from '../../stores/redis/scan.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { countReceivedSpans } from '../spans/index.ts';
import { findMeteredWorkspaces, listWorkspaceIds, type MeteredWorkspace } from './metered-workspace-store.ts';
import { type QuotaThresholdDeps, recordQuotaThresholds } from './record-quota-thresholds.ts';
import { noteSettleAttempt, settleCounter, settledAtMs } from './settle-counter.ts';
import { counterExpiryS, type Month, monthOf, slotNumber, slotStartMs } from './usage.ts';

export interface SettleUsageDeps extends Pick<QuotaThresholdDeps, 'quotaReached'> {
  redis: Redis;
  postgres: Postgres;
  clickhouse: ClickHouse;
  /** The lanes. */
  ingest: readonly Queue[];
  isolation: Queue;
  logger: Logger;
}

export interface SettleUsageTiming {
  nowMs: number;
  /** Older received data has been published or never will be. Longer than a request may take. */
  requestMsMax?: number;
  /** Minimum time between two settlements of a workspace. */
  everyMs?: number;
}

/** Number of workspaces per count query. */
const workspacesPerGroup = 200;

/**
 * Compares the monthly counters of spans with the stored spans, and rebuilds counters that Redis lost. Of each
 * workspace, only data received before its oldest unfinished body is settled, because its count cannot change. Later
 * data stays as counted.
 */
export async function settleMonthlyUsage(deps: SettleUsageDeps, timing: SettleUsageTiming): Promise<void> {
  const { nowMs, requestMsMax = 5 * 60_000, everyMs = 15 * 60_000 } = timing;
  const month = monthOf(nowMs);
  await recordThresholds(deps, month);
  const unfinished = await examineUnfinished(deps.redis, [...deps.ingest, deps.isolation]);
  if (unfinished === undefined) return; // The workers are far behind; the next run may succeed.
  const rebuiltKey = usageRebuiltKey(month);
  const known = (await deps.redis.exists(rebuiltKey)) === 1;
  let failures = 0;
  for await (const ids of known ? countedWorkspaces(deps.redis, month) : allWorkspaces(deps.postgres)) {
    const settledMs = await Promise.all(ids.map((id) => settledAtMs(deps.redis, usageKey(id, 'spans', month))));
    const due = ids.filter((_, index) => nowMs - (settledMs[index] ?? 0) >= everyMs);
    const oldest = await unfinished.oldestOf(due);
    const firstOpenSlotOf = ({ id }: MeteredWorkspace) =>
      slotNumber(Math.min(nowMs - requestMsMax, oldest.get(id) ?? Infinity));
    const workspaces = await findMeteredWorkspaces(deps.postgres, due);
    for (const firstOpenSlot of new Set(workspaces.map(firstOpenSlotOf))) {
      const group = workspaces.filter((workspace) => firstOpenSlotOf(workspace) === firstOpenSlot);
      failures += await settleGroup(deps, group, { month, firstOpenSlot, nowMs });
    }
  }
  if (!known && failures === 0) await deps.redis.set(rebuiltKey, nowMs, 'EXAT', counterExpiryS(month));
}

/** Pages of workspaces that have used something this month; failures do not keep usage from being settled. */
async function recordThresholds(deps: SettleUsageDeps, month: Month): Promise<void> {
  try {
    for await (const ids of countedWorkspaces(deps.redis, month, '*')) await recordQuotaThresholds(deps, ids, month);
    await deps.redis.hset(countsKeys.quotas, 'checked_at_ms', Date.now());
  } catch (error) {
    deps.logger.warn({ err: error }, 'thresholds of quotas could not be checked');
    // Where Redis is the reason, only the log tells it.
    await deps.redis.hincrby(countsKeys.quotas, 'failures', 1).catch(() => undefined);
  }
}

interface Settlement {
  month: Month;
  firstOpenSlot: number;
  nowMs: number;
}

/**
 * Settles a group with one count query. If it fails, settles each half. Resolves to the number of
 * workspaces that were not settled.
 */
async function settleGroup(
  deps: SettleUsageDeps,
  group: readonly MeteredWorkspace[],
  settlement: Settlement,
): Promise<number> {
  const [first] = group;
  const fromMs = settlement.month.startMs;
  const toMs = slotStartMs(settlement.firstOpenSlot);
  if (first === undefined || toMs <= fromMs) return group.length;
  try {
    const projectIds = group.flatMap((workspace) => workspace.projectIds);
    const stored = await countReceivedSpans(deps.clickhouse, { projectIds, fromMs, toMs });
    await Promise.all(group.map((workspace) => correct(deps, workspace, stored, settlement)));
    return 0;
  } catch (error) {
    if (group.length > 1) {
      const middle = Math.ceil(group.length / 2);
      const failures = await settleGroup(deps, group.slice(0, middle), settlement);
      return failures + (await settleGroup(deps, group.slice(middle), settlement));
    }
    // Keep its counter unchanged: one workspace that cannot be counted must not block the others.
    deps.logger.warn({ err: error, workspace_id: first.id }, 'usage could not be settled');
    await noteSettleAttempt(deps.redis, counterOf(first, settlement));
    return 1;
  }
}

async function correct(
  { redis, logger }: SettleUsageDeps,
  workspace: MeteredWorkspace,
  storedByProject: ReadonlyMap<string, number>,
  settlement: Settlement,
): Promise<void> {
  const { firstOpenSlot } = settlement;
  const stored = workspace.projectIds.reduce((sum, id) => sum + (storedByProject.get(id) ?? 0), 0);
  const added = await settleCounter(redis, { ...counterOf(workspace, settlement), stored, firstOpenSlot });
  if (added !== 0) logger.info({ workspace_id: workspace.id, added }, 'usage corrected');
}

function counterOf({ id }: MeteredWorkspace, { month, nowMs }: Settlement) {
  return { key: usageKey(id, 'spans', month), nowMs, expiresAtS: counterExpiryS(month) };
}

async function* allWorkspaces(postgres: Postgres): AsyncGenerator<string[]> {
  let after = '';
  for (;;) {
    const ids = await listWorkspaceIds(postgres, after, workspacesPerGroup);
    yield ids;
    const last = ids.at(-1);
    if (last === undefined || ids.length < workspacesPerGroup) return;
    after = last;
  }
}

async function* countedWorkspaces(
  redis: Redis,
  month: Month,
  quota: 'spans' | '*' = 'spans',
): AsyncGenerator<string[]> {
  for await (const keys of scanKeys(redis, { match: usageKeyPattern(quota, month) })) {
    for (let at = 0; at < keys.length; at += workspacesPerGroup) {
      yield keys.slice(at, at + workspacesPerGroup).map(workspaceOfUsageKey);
    }
  }
}
