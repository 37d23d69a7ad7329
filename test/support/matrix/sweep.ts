import type { Contract } from '../../../src/http/endpoint.ts';
import { newKey, type TestApi } from '../api.ts';
import { newUser } from '../users.ts';
import { type Answers, type Attempt, keyOf, nameOf, type Row } from './attempt.ts';
import type { Credentials } from './credentials.ts';
import { refusalFor } from './expectation.ts';
import { differenceFromUnknown, faultsOf } from './judge.ts';
import { idFor, type KindOfId, kindsOfId, namesIn } from './paths.ts';
import { insertEndedRun } from './runs.ts';
import { send } from './send.ts';
import { newFeedback, newItem, type Tenants } from './tenants.ts';
import { insertWebhook } from './webhooks.ts';

export interface Cell {
  operationId: string;
  /** The path parameter of another tenant. Undefined if all belong to the caller. */
  parameter: string | undefined;
  kind: KindOfId;
  credential: string;
  status: number;
}

export interface SweepDeps {
  api: TestApi;
  tenants: Tenants;
  credentials: Credentials;
  /** Fingerprint of all rows of the tenants in Postgres. */
  fingerprint: () => Promise<string>;
}

export interface Swept {
  cells: Cell[];
  /** Faults as texts. */
  faults: string[];
}

/** Number of requests at the same time, and of requests that may write. A process accepts few imports. */
const parallel = { readers: 24, writers: 2 };

/** Reads that the audit log records. */
const auditedReads: ReadonlySet<string> = new Set(['getQuarantinedBody']);

/** Tests every credential with a contract, and replaces each path parameter by a value of another tenant. */
export async function sweep(deps: SweepDeps, contract: Contract): Promise<Swept> {
  const attempts = rowsOf(deps, contract).flatMap((row) => attemptsOf(deps, row));
  const answers: Answers = new Map();
  const faults: string[] = [];
  const readsOnly = contract.method === 'GET' && !auditedReads.has(contract.operationId);
  const changesNothing = ({ refusal }: Attempt) => refusal !== undefined || readsOnly;
  const take = async (attempt: Attempt) => answers.set(keyOf(attempt), await send(deps.api, deps.tenants, attempt));

  const before = await deps.fingerprint();
  await atOnce(parallel.readers, attempts.filter(changesNothing), take);
  if ((await deps.fingerprint()) !== before) {
    faults.push(`${contract.operationId}: requests that were refused or only read have changed data`);
  }
  const others = attempts.filter((attempt) => !changesNothing(attempt));
  faults.push(...(await sweepWriters(deps, others, answers, take)));
  for (const attempt of attempts) {
    const answer = answers.get(keyOf(attempt));
    if (answer === undefined) continue;
    const words = `${nameOf(attempt.row)} with ${attempt.credential.name}`;
    faults.push(...faultsOf(attempt, answer).map((fault) => `${words}: ${fault}`));
  }
  faults.push(...attempts.flatMap((attempt) => differenceFromUnknown(deps.tenants, attempt, answers)));
  return { cells: attempts.map((attempt) => cellOf(attempt, answers)), faults };
}

function rowsOf({ tenants }: SweepDeps, contract: Contract): Row[] {
  const names = namesIn(contract.path);
  const own = Object.fromEntries(names.map((name) => [name, idFor(name, 'own', tenants)]));
  const replaced = names.flatMap((parameter) =>
    kindsOfId
      .filter((kind) => kind !== 'own')
      .map(
        (kind): Row => ({ contract, parameter, kind, ids: { ...own, [parameter]: idFor(parameter, kind, tenants) } }),
      ),
  );
  return [{ contract, parameter: undefined, kind: 'own', ids: own }, ...replaced];
}

function attemptsOf({ credentials, tenants }: SweepDeps, row: Row): Attempt[] {
  return credentials.for(row.contract.access).map((credential) => ({
    row,
    credential,
    refusal: refusalFor(row.contract, credential, row.ids, tenants),
  }));
}

/**
 * Tests the requests that may write. A request that fails must change nothing. With ids of the
 * caller, a request must have its effect.
 */
async function sweepWriters(
  deps: SweepDeps,
  attempts: readonly Attempt[],
  answers: Answers,
  take: (attempt: Attempt) => Promise<unknown>,
): Promise<string[]> {
  const [own, replaced] = [
    attempts.filter(({ row }) => row.kind === 'own'),
    attempts.filter(({ row }) => row.kind !== 'own'),
  ];
  for (const { row, credential, refusal } of own) {
    const fresh = { row: await withFreshTarget(deps, row), credential, refusal };
    answers.set(keyOf(fresh), await send(deps.api, deps.tenants, fresh));
  }
  const before = await deps.fingerprint();
  await atOnce(parallel.writers, replaced, take);
  const allFailed = replaced.every((attempt) => (answers.get(keyOf(attempt))?.status ?? 0) >= 300);
  if (!allFailed || (await deps.fingerprint()) === before) return [];
  return [`${attempts[0]?.row.contract.operationId}: requests that failed have changed data`];
}

/** Creates new data for each request that consumes data, so that each request has the same conditions. */
async function withFreshTarget({ api, tenants }: SweepDeps, row: Row): Promise<Row> {
  const ids = { ...row.ids };
  const { project, label } = tenants.own;
  if ('key_id' in ids) ids.key_id = (await newKey(api, project.id, {})).id;
  if ('user_id' in ids) ids.user_id = (await newUser(api, { workspaceId: project.workspaceId, role: 'member' })).id;
  if ('webhook_id' in ids) {
    const { webhookId, deliveryId } = await insertWebhook(api, project, 'new');
    ids.webhook_id = webhookId;
    if ('delivery_id' in ids) ids.delivery_id = deliveryId;
  }
  if ('feedback_id' in ids) ids.feedback_id = await newFeedback(api, project, 'new');
  if ('part_id' in ids) ids.part_id = (await newItem(api, project, 'Part', { text: 'new', label, body: newPart })).id;
  if ('prompt_id' in ids) {
    ids.prompt_id = (await newItem(api, project, 'Prompt', { text: 'new', label, body: newPrompt })).id;
    if ('run_id' in ids) {
      const { runId, candidateId } = await insertEndedRun(api, project, ids.prompt_id, 'new');
      ids.run_id = runId;
      if ('candidate_id' in ids) ids.candidate_id = candidateId;
    }
    if (row.contract.operationId === 'restorePrompt') await api.admin('deletePrompt', { params: ids }, 204);
  }
  return { ...row, ids };
}

const newPart = { template: 'new' };
const newPrompt = { type: 'text', template: 'new' };

function cellOf(attempt: Attempt, answers: Answers): Cell {
  const { contract, parameter, kind } = attempt.row;
  const status = answers.get(keyOf(attempt))?.status ?? 0;
  return { operationId: contract.operationId, parameter, kind, credential: attempt.credential.name, status };
}

async function atOnce<T>(runners: number, items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = [...items];
  const runner = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: runners }, runner));
}
