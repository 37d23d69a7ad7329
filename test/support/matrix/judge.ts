import { type Answer, type Answers, type Attempt, keyOf, nameOf } from './attempt.ts';
import type { Credential } from './credentials.ts';
import { canary, type Tenants } from './tenants.ts';

/** Returns the faults of a response as texts. */
export function faultsOf({ row, credential, refusal }: Attempt, { status, text }: Answer): string[] {
  const faults: string[] = [];
  const { operationId, access } = row.contract;
  for (const name of alwaysSent) if (!text.includes(name)) faults.push(`has no ${name}`);
  if (status >= 500) faults.push(`answers ${status}: ${text.slice(-300)}`);
  const mayKnow = credential.foreign === true || credential.holder?.type === 'operator';
  if (!mayKnow && text.includes(canary)) faults.push('answers what belongs to another tenant');
  if (refusal !== undefined) {
    const code = /"code":"(\w+)"/.exec(text)?.[1];
    if (status !== refusal.status) faults.push(`answers ${status}, not ${refusal.status}: ${text.slice(-300)}`);
    else if (code !== undefined && !refusal.codes.includes(code)) faults.push(`answers ${code}, not ${refusal.codes}`);
    return faults;
  }
  const expected = row.kind === 'own' ? (otherStatuses[operationId] ?? 'done') : 'any';
  if (expected === 'done' && status >= 300) faults.push(`answers ${status}, though it may: ${text.slice(-300)}`);
  if (typeof expected === 'number' && status !== expected) faults.push(`answers ${status}, not ${expected}`);
  if (!('open' in access) && (status === 401 || status === 403)) faults.push(`answers ${status}, though it may`);
  return faults;
}

/**
 * Headers of every response: its request id and, in both formats, the remaining part of a limit.
 * `text` begins with the names of the headers.
 */
const alwaysSent = [
  ...['x-request-id', 'ratelimit,', 'ratelimit-policy'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
];

/** Expected statuses of allowed requests that do not succeed. */
const otherStatuses: Readonly<Record<string, number>> = {
  receiveIdentityWebhook: 404,
  // The webhooks of the matrix are disabled.
  testWebhook: 409,
  redeliverWebhookDelivery: 409,
  // No endpoint of models is configured here.
  optimizePrompt: 422,
  rerunOptimization: 422,
};

/** A resource of another tenant must get the same response as a resource that never existed. */
export function differenceFromUnknown(tenants: Tenants, { row, credential }: Attempt, answers: Answers): string[] {
  const { parameter, kind } = row;
  if (kind !== 'sibling' && kind !== 'foreign') return [];
  if (maySee(credential, parameter, kind, tenants)) return [];
  const given = answers.get(keyOf({ row, credential }));
  const wanted = answers.get(keyOf({ row: { ...row, kind: 'unknown' }, credential }));
  // Successful responses differ in their ids and times. Another check looks for data of other tenants.
  const isSame = given?.status === wanted?.status && (given?.text === wanted?.text || (given?.status ?? 0) < 300);
  if (isSame) return [];
  const said = [given, wanted].map((answer) => `${answer?.status} ${answer?.text}`);
  return [`${nameOf(row)} with ${credential.name}: ${said[0]}, but an unknown one is ${said[1]}`];
}

function maySee({ holder }: Credential, parameter: string | undefined, kind: 'sibling' | 'foreign', tenants: Tenants) {
  // A label and a version belong to the prompt or part that the path names.
  if (parameter === 'label' || parameter === 'version') return true;
  if (holder === undefined) return false;
  if (holder.type === 'operator') return true;
  const { project } = tenants[kind];
  // Sibling projects share their workspace and its members. All other ids belong to one project.
  const ofWorkspace = parameter === 'workspace_id' || parameter === 'user_id' || parameter === 'project_id';
  if (holder.type === 'user') return ofWorkspace && holder.workspaceId === project.workspaceId;
  return parameter === 'workspace_id' || parameter === 'user_id'
    ? holder.workspaceId === project.workspaceId
    : holder.projectId === project.id;
}
