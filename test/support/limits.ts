import type { PlanOverrides } from '../../src/domains/workspaces/plan-overrides.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { newProject, type ProjectOfTest, type TestApi } from './api.ts';

export interface QuotaWireLimit {
  resource: 'spans' | 'optimization_runs' | 'ingested_bytes' | 'written_bytes';
  limit: number | null;
  used: number;
  remaining: number | null;
  used_ratio: number;
  hard: boolean;
  projected: number;
}

export interface QuotaWire {
  workspace_id: string;
  plan: string;
  period: { start: string; end: string; resets_at: string };
  limits: QuotaWireLimit[];
  rate_limits: { class: string; unit: string; limit: number | null; window_s: number; remaining: number | null }[];
  retention_days: number | null;
  features: object;
}

/** Creates a project in its own workspace with these overrides, which apply from the first use of its key. */
export async function limitedProject(
  api: TestApi,
  overrides: PlanOverrides,
  plan: 'free' | 'enterprise' = 'enterprise',
): Promise<ProjectOfTest> {
  const project = await newProject(api, plan);
  await override(api, project, overrides);
  return project;
}

/** Sets overrides as the operator. */
export async function override(api: TestApi, project: ProjectOfTest, overrides: PlanOverrides): Promise<void> {
  const options = { params: { workspace_id: project.workspaceId }, body: { plan_overrides: overrides } };
  await api.admin('updateWorkspace', options, 200);
}

export async function getQuota(api: TestApi, project: ProjectOfTest): Promise<QuotaWire> {
  const answer = await api.call<QuotaWire>('getQuota', {
    params: { workspace_id: project.workspaceId },
    key: project.key,
  });
  if (answer.status !== 200) throw new Error(`GET quota responded with ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** Returns the quota of spans that the API reports. */
export async function spanQuota(api: TestApi, project: ProjectOfTest): Promise<QuotaWireLimit> {
  const found = (await getQuota(api, project)).limits.find(({ resource }) => resource === 'spans');
  if (found === undefined) throw new Error('The report has no quota of spans');
  return found;
}

/** Opens a connection to Redis like that of requests. */
export async function requestRedis(redisUrl: string): Promise<Redis> {
  const redis = connectRequestRedis(redisUrl);
  await firstConnection(redis);
  return redis;
}
