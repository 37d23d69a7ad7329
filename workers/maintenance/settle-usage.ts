import type { Queue } from 'bullmq';
import {
  counterExpiryS,
  countStoredSpans,
  findMeteredWorkspace,
  listWorkspaceIds,
  type MeteredWorkspace,
  type Month,
  monthOf,
  noteSettleAttempt,
  settledAtMs,
  settleUsage,
  slotNumber,
  slotStartMs,
  usageKey,
  workspaceOfUsageKey,
} from '../../src/domains/quotas/index.ts';
import { limitsOf } from '../../src/domains/workspaces/index.ts';
import { unfinishedReceiptAtMs } from '../../src/queue/unfinished-receipt.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import type { Logger } from '../../src/telemetry/logger.ts';

export interface SettleUsageDeps {
  redis: Redis;
  postgres: Postgres;
  clickhouse: ClickHouse;
  ingest: Queue;
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

const idsPerPage = 1_000;
const dayMs = 86_400_000;

/**
 * Compares the month's counters of spans with what is stored: work that was counted and never stored is given back, and counters
 * that Redis lost are built anew. What was received before the oldest body still in the queue is settled, so a count of it cannot
 * change any more; what came later stays as it was counted.
 */
export async function settleMonthlyUsage(deps: SettleUsageDeps, timing: SettleUsageTiming): Promise<void> {
  const { nowMs, requestMsMax = 5 * 60_000, everyMs = 15 * 60_000 } = timing;
  const month = monthOf(nowMs);
  const unfinishedAtMs = await unfinishedReceiptAtMs(deps.redis, [deps.ingest, deps.isolation]);
  if (unfinishedAtMs === undefined) return; // The workers are far behind; the next run may tell.
  const firstOpenSlot = slotNumber(Math.min(nowMs - requestMsMax, unfinishedAtMs));
  const rebuiltKey = `promptlane:usage-rebuilt:${month.name}`;
  const known = (await deps.redis.exists(rebuiltKey)) === 1;
  let failures = 0;
  for await (const workspaceId of known ? countedWorkspaces(deps.redis, month) : allWorkspaces(deps.postgres)) {
    if (nowMs - (await settledAtMs(deps.redis, usageKey(workspaceId, 'spans', month))) < everyMs) continue;
    if (!(await settleWorkspace(deps, workspaceId, { month, firstOpenSlot, nowMs }))) failures++;
  }
  if (!known && failures === 0) await deps.redis.set(rebuiltKey, nowMs, 'EXAT', counterExpiryS(month));
}

interface Settlement {
  month: Month;
  firstOpenSlot: number;
  nowMs: number;
}

/** Whether the counter is right now. */
async function settleWorkspace(
  { redis, postgres, clickhouse, logger }: SettleUsageDeps,
  workspaceId: string,
  { month, firstOpenSlot, nowMs }: Settlement,
): Promise<boolean> {
  const workspace = await findMeteredWorkspace(postgres, workspaceId);
  const toMs = slotStartMs(firstOpenSlot);
  if (workspace === undefined || workspace.projectIds.length === 0 || toMs <= month.startMs) return true;
  const { projectIds } = workspace;
  const counter = { key: usageKey(workspaceId, 'spans', month), nowMs, expiresAtS: counterExpiryS(month) };
  try {
    const stored = await countStoredSpans(clickhouse, { projectIds, fromMs: month.startMs, toMs });
    const mayFall = keepsWholeMonth(workspace, month, nowMs);
    const change = await settleUsage(redis, { ...counter, stored, firstOpenSlot, mayFall });
    if (change !== 0) logger.info({ workspace_id: workspaceId, change }, 'usage corrected');
    return true;
  } catch (error) {
    // Its counter stays as it is: one workspace that cannot be counted must not keep the others from it.
    logger.warn({ err: error, workspace_id: workspaceId }, 'usage could not be settled');
    await noteSettleAttempt(redis, counter);
    return false;
  }
}

/** Whether nothing received this month can have reached its retention. */
function keepsWholeMonth(workspace: MeteredWorkspace, month: Month, nowMs: number): boolean {
  const { retentionDays } = limitsOf(workspace);
  return retentionDays === 0 || nowMs - month.startMs < retentionDays * dayMs;
}

async function* allWorkspaces(postgres: Postgres): AsyncGenerator<string> {
  let after = '';
  for (;;) {
    const ids = await listWorkspaceIds(postgres, after, idsPerPage);
    yield* ids;
    const last = ids.at(-1);
    if (last === undefined || ids.length < idsPerPage) return;
    after = last;
  }
}

async function* countedWorkspaces(redis: Redis, month: Month): AsyncGenerator<string> {
  const match = usageKey('*', 'spans', month);
  for await (const keys of redis.scanStream({ match, count: idsPerPage }) as AsyncIterable<string[]>) {
    yield* keys.map(workspaceOfUsageKey);
  }
}
