import type { Queue } from 'bullmq';
import { unfinishedReceiptAtMs } from '../../queue/unfinished-receipt.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { countReceivedSpans } from '../spans/index.ts';
import { limitsOf } from '../workspaces/index.ts';
import { findMeteredWorkspaces, listWorkspaceIds, type MeteredWorkspace } from './metered-workspace-store.ts';
import { noteSettleAttempt, settleCounter, settledAtMs } from './settle-counter.ts';
import {
  counterExpiryS,
  type Month,
  monthOf,
  slotNumber,
  slotStartMs,
  usageKey,
  workspaceOfUsageKey,
} from './usage.ts';

export interface SettleUsageDeps {
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
  /** What was received so long ago has been published or will never be: longer than a request may take. */
  requestMsMax?: number;
  /** How old what is known of a workspace may become while it is used. */
  everyMs?: number;
}

/** Asked about at once. */
const workspacesPerGroup = 200;
const dayMs = 86_400_000;

/**
 * Compares the month's counters of spans with what is stored: work that was counted and never stored is given back, and counters
 * that Redis lost are built anew. What was received before the oldest body still in the queue is settled, so a count of it cannot
 * change any more; what came later stays as it was counted.
 */
export async function settleMonthlyUsage(deps: SettleUsageDeps, timing: SettleUsageTiming): Promise<void> {
  const { nowMs, requestMsMax = 5 * 60_000, everyMs = 15 * 60_000 } = timing;
  const month = monthOf(nowMs);
  const unfinishedAtMs = await unfinishedReceiptAtMs(deps.redis, [...deps.ingest, deps.isolation]);
  if (unfinishedAtMs === undefined) return; // The workers are far behind; the next run may tell.
  const firstOpenSlot = slotNumber(Math.min(nowMs - requestMsMax, unfinishedAtMs));
  const rebuiltKey = `promptlane:usage-rebuilt:${month.name}`;
  const known = (await deps.redis.exists(rebuiltKey)) === 1;
  let failures = 0;
  for await (const ids of known ? countedWorkspaces(deps.redis, month) : allWorkspaces(deps.postgres)) {
    const settledMs = await Promise.all(ids.map((id) => settledAtMs(deps.redis, usageKey(id, 'spans', month))));
    const due = ids.filter((_, index) => nowMs - (settledMs[index] ?? 0) >= everyMs);
    failures += await settleGroup(deps, await findMeteredWorkspaces(deps.postgres, due), {
      month,
      firstOpenSlot,
      nowMs,
    });
  }
  if (!known && failures === 0) await deps.redis.set(rebuiltKey, nowMs, 'EXAT', counterExpiryS(month));
}

interface Settlement {
  month: Month;
  firstOpenSlot: number;
  nowMs: number;
}

/** With one count for all of them; where it fails, with one for each half. Resolves to how many could not be settled. */
async function settleGroup(
  deps: SettleUsageDeps,
  group: readonly MeteredWorkspace[],
  settlement: Settlement,
): Promise<number> {
  const [first] = group;
  const fromMs = settlement.month.startMs;
  const toMs = slotStartMs(settlement.firstOpenSlot);
  if (first === undefined || toMs <= fromMs) return 0;
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
    // Its counter stays as it is: one workspace that cannot be counted must not keep the others from it.
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
  const { month, firstOpenSlot, nowMs } = settlement;
  const stored = workspace.projectIds.reduce((sum, id) => sum + (storedByProject.get(id) ?? 0), 0);
  const mayFall = keepsWholeMonth(workspace, month, nowMs);
  const change = await settleCounter(redis, { ...counterOf(workspace, settlement), stored, firstOpenSlot, mayFall });
  if (change !== 0) logger.info({ workspace_id: workspace.id, change }, 'usage corrected');
}

function counterOf({ id }: MeteredWorkspace, { month, nowMs }: Settlement) {
  return { key: usageKey(id, 'spans', month), nowMs, expiresAtS: counterExpiryS(month) };
}

/** Whether nothing received this month can have reached its retention. */
function keepsWholeMonth(workspace: MeteredWorkspace, month: Month, nowMs: number): boolean {
  const { retentionDays } = limitsOf(workspace);
  return retentionDays === 0 || nowMs - month.startMs < retentionDays * dayMs;
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

async function* countedWorkspaces(redis: Redis, month: Month): AsyncGenerator<string[]> {
  const match = usageKey('*', 'spans', month);
  for await (const keys of redis.scanStream({ match, count: 1_000 }) as AsyncIterable<string[]>) {
    for (let at = 0; at < keys.length; at += workspacesPerGroup) {
      yield keys.slice(at, at + workspacesPerGroup).map(workspaceOfUsageKey);
    }
  }
}
