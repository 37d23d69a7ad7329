import { setTimeout as delay } from 'node:timers/promises';
import type { RequestLoad } from '../load/requests.ts';
import { round, summarizeLatencies } from '../statistics.ts';
import { type Bench, watchResources } from './bench.ts';

const defaultSeconds = 5;
const warmUpSeconds = 2;
const unloadedSeconds = 2;
/** With fewer connections, the server is idle while responses are transferred. */
const connectionsMin = 16;
const sampleEveryMs = 100;
/** Requests per minute. The limit is checked, but no run reaches it. */
const readLimit = 1_000_000_000;
const inForceTimeoutMs = 5_000;

type Request = Pick<RequestLoad, 'path' | 'headers'>;

/**
 * Closed loop of requests with little work in the handler. Measures the capacity of one process,
 * and the cost of a key and its limits.
 * `unloaded` uses one connection, so that its median does not include waiting for other requests.
 */
export async function requests(bench: Bench): Promise<object> {
  const { url, apiKey, projectId, adminKey } = bench.target;
  const seconds = bench.options.seconds ?? defaultSeconds;
  const connections = Math.max(connectionsMin, bench.options.connections);
  const headers = { 'x-api-key': apiKey };
  const workspaceId = await findWorkspaceId(url, headers);
  const probe: Request = { path: '/api/health?probe=live', headers: {} };
  // The trace id is not valid. So after the key and its limits, the request uses no store.
  const refused: Request = { path: `/api/projects/${projectId}/executions/none`, headers };
  // The most frequent request of clients. The API responds from memory.
  const prompt: Request = { path: await createPrompt(url, projectId, headers), headers };
  const quota: Request = { path: `/api/workspaces/${workspaceId}/quota`, headers };
  const run = (request: Request) => measure(bench, { ...request, connections, seconds });

  await bench.load.run('requests', { ...refused, connections, seconds: warmUpSeconds });
  const figures: Record<string, object> = {
    open_probe: await run(probe),
    key_refused_id: await run(refused),
    key_prompt: await run(prompt),
    key_quota: await run(quota),
  };
  if (adminKey !== undefined) {
    await limitReads(url, workspaceId, adminKey, headers, { rate_limits: { read: readLimit } });
    figures.key_limits_refused_id = await run(refused);
    figures.key_limits_prompt = await run(prompt);
    figures.key_limits_quota = await run(quota);
    await limitReads(url, workspaceId, adminKey, headers, {});
  }
  return { parameters: { loop: 'closed', connections, seconds }, ...figures };
}

async function measure(bench: Bench, load: RequestLoad): Promise<object> {
  const unloaded = await bench.load.run('requests', { ...load, connections: 1, seconds: unloadedSeconds });
  const watch = watchResources(bench, sampleEveryMs);
  const { statuses, latenciesMs, tookMs } = await bench.load.run('requests', load);
  const { byProcess, others_cpu_s } = watch.stop();
  const cpuUs = (name: string) => {
    const cpuS = byProcess[name]?.cpu_s ?? null;
    return cpuS === null ? null : round((cpuS * 1e6) / latenciesMs.length, 1);
  };
  return {
    requests_per_s: Math.round((latenciesMs.length / tookMs) * 1_000),
    /** Requests per second of one API process if it had one core alone. */
    requests_per_api_cpu_s: perCpuS(cpuUs('api')),
    cpu_us_per_request: Object.fromEntries(Object.keys(byProcess).map((name) => [name, cpuUs(name)])),
    answers: statuses,
    latency: summarizeLatencies(latenciesMs, 3),
    unloaded: summarizeLatencies(unloaded.latenciesMs, 3),
    others_cpu_s,
  };
}

const perCpuS = (us: number | null) => (us === null ? null : Math.round(1e6 / us));

async function findWorkspaceId(url: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`${url}/api/me/context`, { headers });
  if (!response.ok) throw new Error(`GET /api/me/context responded with ${response.status}`);
  const context = (await response.json()) as { workspace: { id: string } };
  return context.workspace.id;
}

/** Creates a prompt and returns the path of its newest version. */
async function createPrompt(url: string, projectId: string, headers: Record<string, string>): Promise<string> {
  const path = `/api/projects/${projectId}/prompts`;
  const created = await fetch(url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Small request', type: 'text', template: 'Answer {{question}} in one sentence.' }),
  });
  if (!created.ok) throw new Error(`POST prompts responded with ${created.status}: ${await created.text()}`);
  const { id } = (await created.json()) as { id: string };
  return `${path}/${id}`;
}

/** Changes the limits of the workspace, and waits until they apply to its key. */
async function limitReads(
  url: string,
  workspaceId: string,
  adminKey: string,
  headers: Record<string, string>,
  overrides: { rate_limits?: { read: number } },
): Promise<void> {
  const changed = await fetch(`${url}/api/workspaces/${workspaceId}`, {
    method: 'PATCH',
    headers: { 'x-admin-key': adminKey, 'content-type': 'application/json' },
    body: JSON.stringify({ plan_overrides: overrides }),
  });
  if (!changed.ok) throw new Error(`PATCH workspace responded with ${changed.status}: ${await changed.text()}`);
  const giveUpAtMs = performance.now() + inForceTimeoutMs;
  for (;;) {
    const response = await fetch(`${url}/api/workspaces/${workspaceId}/quota`, { headers });
    const quota = (await response.json()) as { rate_limits: { class: string; limit: number | null }[] };
    const read = quota.rate_limits.find((rate) => rate.class === 'read');
    if (read?.limit === (overrides.rate_limits?.read ?? null)) return;
    if (performance.now() > giveUpAtMs) throw new Error('The limit does not apply after 5 s');
    await delay(50);
  }
}
