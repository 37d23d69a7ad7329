import type { Contract } from '../../../src/http/endpoint.ts';
import { newKey, type TestApi } from '../api.ts';
import { newTraceId } from '../spans.ts';
import { newUser } from '../users.ts';
import { bodyFor } from './bodies.ts';
import type { Credential, Credentials } from './credentials.ts';
import { type Refusal, refusalFor } from './expectation.ts';
import { idFor, type KindOfId, kindsOfId, namesIn, pathWith } from './paths.ts';
import { canary, type Tenants } from './tenants.ts';

export interface Cell {
  operationId: string;
  /** The path parameter that is not the caller's own; undefined where all are. */
  parameter: string | undefined;
  kind: KindOfId;
  credential: string;
  status: number;
}

export interface SweepDeps {
  api: TestApi;
  tenants: Tenants;
  credentials: Credentials;
  /** Of everything the tenants have in Postgres. */
  fingerprint: () => Promise<string>;
}

export interface Swept {
  cells: Cell[];
  /** What is not as it must be, in words. */
  faults: string[];
}

/** Traces of requests that must be refused, none of which may ever be stored, and of those that must not. */
export const traces = { refused: newTraceId(), admitted: newTraceId() };

interface Row {
  contract: Contract;
  parameter: string | undefined;
  kind: KindOfId;
  ids: Readonly<Record<string, string>>;
}

interface Answer {
  status: number;
  /** Without what is the request's own, so that two answers can be compared. */
  text: string;
}

/** Every credential against a contract, and every path parameter in turn replaced by what is not the caller's. */
export async function sweep(deps: SweepDeps, contract: Contract): Promise<Swept> {
  const swept: Swept = { cells: [], faults: [] };
  const names = namesIn(contract.path);
  const own = Object.fromEntries(names.map((name) => [name, idFor(name, 'own', deps.tenants)]));
  await sweepRow(deps, { contract, parameter: undefined, kind: 'own', ids: own }, swept);
  for (const parameter of names) {
    const answers = new Map<KindOfId, Map<string, Answer>>();
    for (const kind of kindsOfId.filter((each) => each !== 'own')) {
      const ids = { ...own, [parameter]: idFor(parameter, kind, deps.tenants) };
      answers.set(kind, await sweepRow(deps, { contract, parameter, kind, ids }, swept));
    }
    compareWithUnknown(deps, { contract, parameter }, answers, swept);
  }
  return swept;
}

/** The refused ones at once, the tenants' data held against what it was before; then the others one by one. */
async function sweepRow(deps: SweepDeps, row: Row, swept: Swept): Promise<Map<string, Answer>> {
  const before = await deps.fingerprint();
  const all = deps.credentials.for(row.contract.access).map((credential) => ({
    credential,
    refusal: refusalFor(row.contract, credential, row.ids, deps.tenants),
  }));
  const answers = new Map<string, Answer>();
  const note = (credential: Credential, refusal: Refusal, answer: Answer) => {
    answers.set(credential.name, answer);
    const { operationId } = row.contract;
    const { parameter, kind } = row;
    swept.cells.push({ operationId, parameter, kind, credential: credential.name, status: answer.status });
    const faults = faultsOf(row, credential, refusal, answer);
    swept.faults.push(...faults.map((fault) => `${nameOf(row)} with ${credential.name}: ${fault}`));
  };
  const toRefuse = all.filter(({ refusal }) => refusal !== undefined);
  await Promise.all(
    toRefuse.map(async ({ credential, refusal }) =>
      note(credential, refusal, await send(deps, row, credential, traces.refused)),
    ),
  );
  if ((await deps.fingerprint()) !== before) swept.faults.push(`${nameOf(row)}: a refused request has changed data`);
  for (const { credential } of all.filter(({ refusal }) => refusal === undefined)) {
    const fresh = await withFreshTarget(deps, row);
    const held = await deps.fingerprint();
    const answer = await send(deps, fresh, credential, traces.admitted);
    note(credential, undefined, answer);
    if (answer.status < 300 && row.contract.method !== 'GET') continue;
    if ((await deps.fingerprint()) !== held) {
      swept.faults.push(`${nameOf(row)} with ${credential.name}: ${answer.status}, but data has changed`);
    }
  }
  return answers;
}

/** What a request uses up is made anew for each, so that the last may do what the first did. */
async function withFreshTarget({ api, tenants }: SweepDeps, row: Row): Promise<Row> {
  if (row.kind !== 'own' || row.contract.method === 'GET') return row;
  const ids = { ...row.ids };
  const { id: projectId, workspaceId } = tenants.own.project;
  if ('key_id' in ids) ids.key_id = (await newKey(api, projectId, {})).id;
  if ('user_id' in ids) ids.user_id = (await newUser(api, { workspaceId, role: 'member' })).id;
  return { ...row, ids };
}

async function send({ api }: SweepDeps, row: Row, credential: Credential, traceId: string): Promise<Answer> {
  const { contract, ids } = row;
  const { contentType, body } = bodyFor(contract, traceId);
  const response = await fetch(api.url + pathWith(contract.path, ids), {
    method: contract.method,
    headers: {
      ...credential.headers,
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      'X-Request-Id': 'same',
    },
    body: body ?? null,
  });
  let text = [...response.headers.keys()].join() + (await response.text());
  for (const id of Object.values(ids)) {
    for (const form of [id, encodeURIComponent(id)]) text = text.replaceAll(form, '');
  }
  return { status: response.status, text };
}

function faultsOf(row: Row, credential: Credential, refusal: Refusal, { status, text }: Answer): string[] {
  const faults: string[] = [];
  const { operationId, access } = row.contract;
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

/** Of requests that nothing stands against, where it is not a success. */
const otherStatuses: Readonly<Record<string, number>> = {
  receiveIdentityWebhook: 404,
  exportMetrics: 404,
  exportLogs: 404,
};

/** To whoever may not see it, what belongs to another is not there: the same answer as for what never was. */
function compareWithUnknown(
  { tenants, credentials }: SweepDeps,
  { contract, parameter }: Pick<Row, 'contract' | 'parameter'>,
  answers: ReadonlyMap<KindOfId, ReadonlyMap<string, Answer>>,
  swept: Swept,
): void {
  const unknown = answers.get('unknown');
  for (const kind of ['sibling', 'foreign'] as const) {
    for (const credential of credentials.for(contract.access)) {
      if (maySee(credential, parameter, kind, tenants)) continue;
      const [given, wanted] = [answers.get(kind)?.get(credential.name), unknown?.get(credential.name)];
      if (given?.status === wanted?.status && given?.text === wanted?.text) continue;
      swept.faults.push(
        `${nameOf({ contract, parameter, kind })} with ${credential.name}: ${given?.status} ${given?.text}, ` +
          `but an unknown one is ${wanted?.status} ${wanted?.text}`,
      );
    }
  }
}

function maySee({ holder }: Credential, parameter: string | undefined, kind: 'sibling' | 'foreign', tenants: Tenants) {
  if (holder === undefined) return false;
  if (holder.type === 'operator') return true;
  const { project } = tenants[kind];
  // Workspaces and their members are one for siblings; what else a path names is a project's.
  const ofWorkspace = parameter === 'workspace_id' || parameter === 'user_id' || parameter === 'project_id';
  if (holder.type === 'user') return ofWorkspace && holder.workspaceId === project.workspaceId;
  return parameter === 'workspace_id' || parameter === 'user_id'
    ? holder.workspaceId === project.workspaceId
    : holder.projectId === project.id;
}

function nameOf({ contract, parameter, kind }: Pick<Row, 'contract' | 'parameter' | 'kind'>): string {
  return parameter === undefined ? contract.operationId : `${contract.operationId} of ${kind} ${parameter}`;
}
