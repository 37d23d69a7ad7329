import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fingerprintOf } from '../lib/cursor.ts';
import {
  AppError,
  ConflictError,
  ExhaustedError,
  InvalidError,
  MalformedError,
  OutcomeUnknownError,
  RateLimitedError,
} from '../lib/errors.ts';
import { FairLane } from '../lib/fair-lane.ts';
import { mapInSlices, sharedThird } from '../lib/pace.ts';
import type { Contract, Headers, Result, Status } from './endpoint.ts';
import { problemContentType, problemHeaders, toProblem } from './problem.ts';
import type { QueryValues } from './query.ts';
import { toWireAnswer } from './send-result.ts';
import type { PathParams } from './validate.ts';

/** A request that is to have its effect once. The digest tells another request under the same key. */
export interface IdempotentRequest {
  /** Project or workspace: keys of different tenants never meet. */
  tenant: string;
  operationId: string;
  key: string;
  /** 32 bytes. */
  digest: Buffer;
}

export interface StoredAnswer {
  status: number;
  headers: Headers;
  contentType?: string;
  /** Absent when the answer had none; null when it was too large to keep. */
  content?: Buffer | null;
}

/** What the first sight of a key, or a later one, finds. */
export type Begun =
  /** The lease is the one it had before when the request was postponed. */
  | { outcome: 'begun'; lease: string }
  | { outcome: 'answered'; answer: StoredAnswer }
  | { outcome: 'unfinished'; ageMs: number }
  /** Whether it had its effect is not known, and will not be. */
  | { outcome: 'lost'; ageMs: number }
  | { outcome: 'reused' };

/**
 * Where answers are kept. `begin` is exact over all processes: of any number of equal requests one gets `begun`, until its
 * lease is finished, postponed, abandoned, or 24 h old. A postponed one is begun again by the same request, with the same lease.
 */
export interface IdempotencyStore {
  begin(request: IdempotentRequest): Promise<Begun>;
  finish(request: IdempotentRequest, lease: string, answer: StoredAnswer): Promise<void>;
  /** What became of it is not known: it may run again, as the same. */
  postpone(request: IdempotentRequest, lease: string): Promise<void>;
  /** What became of it is not known, and it must not run again. */
  lose(request: IdempotentRequest, lease: string): Promise<void>;
  /** It had no effect. */
  abandon(request: IdempotentRequest, lease: string): Promise<void>;
}

/** Larger answers are not kept; a repeat of theirs is told so. */
export const storedBytesMax = 1024 * 1024;

/** Whether a contract hears `Idempotency-Key`. */
export function isIdempotent(contract: Contract): boolean {
  const creates = contract.method === 'POST' && (201 in contract.responses || 202 in contract.responses);
  const isRaw = 'kind' in contract && contract.kind === 'raw';
  return contract.idempotent ?? (creates && !isRaw && !('open' in contract.access));
}

/** @throws MalformedError `invalid_header` unless it is 1 to 255 visible ASCII characters; a repeated header is none, for Node joins it with a blank */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  const given = JSON.stringify(String(header).slice(0, 80));
  throw new MalformedError(
    'invalid_header',
    `Idempotency-Key must be 1 to 255 visible ASCII characters; given ${given}`,
  );
}

/** The same for the same request, whatever the order of fields and parameters. Lists of the body are taken in slices. */
export async function digestRequest(
  request: { params: PathParams; query: QueryValues; body: unknown },
  sharer: string,
): Promise<Buffer> {
  const hash = createHash('sha256');
  const { body } = request;
  if (typeof body !== 'object' || body === null) return hash.update(fingerprintOf(request)).digest();
  const prints: [string, string | [string]][] = [];
  for (const [key, value] of Object.entries(body)) {
    prints.push([key, Array.isArray(value) ? [await digestList(value, sharer)] : fingerprintOf(value)]);
  }
  return hash.update(fingerprintOf({ ...request, body: Object.fromEntries(prints) })).digest();
}

async function digestList(list: readonly unknown[], sharer: string): Promise<string> {
  const hash = createHash('sha256');
  // JSON of one line each, so that no two lists read the same.
  await mapInSlices(list, (item) => void hash.update(`${fingerprintOf(item)}\n`), sharedThird(sharer));
  return hash.digest('hex');
}

interface OnceDeps {
  store: IdempotencyStore;
  request: IdempotentRequest;
  shownOnce: readonly string[];
  where: { requestId: string; instance: string };
  /** The effect has happened, so its answer is given although it could not be kept. */
  onStoreError: (error: unknown) => void;
}

/**
 * Runs the handler for the first request with a key, and gives its answer again to the others. What was refused for now (429,
 * 402) is forgotten, so that the key can be tried again. What failed on our side (5xx) may have had its effect: it runs again for the
 * same request only, with the same `effectId`. Where the database went away within a commit, or the process died in between, the
 * effect may have happened: it is never repeated, and until the key expires the answer is 409.
 * @throws InvalidError `idempotency_key_reused`, ConflictError `idempotency_in_flight` or `idempotency_answer_lost`
 */
export async function answerOnce(deps: OnceDeps, run: (effectId: string) => Promise<Result>): Promise<Result> {
  const { store, request, where } = deps;
  const begun = await store.begin(request);
  if (begun.outcome === 'answered') return replay(request.key, begun.answer, where.requestId);
  if (begun.outcome === 'reused') throw reused(request.key);
  if (begun.outcome === 'unfinished' || begun.outcome === 'lost') throw unfinished(request.key, begun);
  const { lease } = begun;
  const settle = (settling: () => Promise<void>) =>
    settling().catch((error: unknown) => {
      deps.onStoreError(error);
      void settleLater(request.tenant, settling);
    });
  try {
    const result = await run(lease);
    if (result.status >= 500) await settle(() => store.postpone(request, lease));
    else {
      const answer = storable(result, deps.shownOnce);
      await settle(() => store.finish(request, lease, answer));
    }
    return result;
  } catch (error) {
    const answer = storableError(error, where);
    if (answer) await settle(() => store.finish(request, lease, answer));
    else if (error instanceof OutcomeUnknownError) await settle(() => store.lose(request, lease));
    else await settle(() => (hadNoEffect(error) ? store.abandon(request, lease) : store.postpone(request, lease)));
    throw error;
  }
}

const settleAgainMs = 1_000;
const settleAgainMax = 60;
/** Shared by all tenants, in turn: two connections at most are asked for, and what one tenant has too much of is tried a second later. */
const settlings = new FairLane({
  name: 'answers to be stored',
  capacity: 2,
  perKey: 1,
  waitingPerKey: 64,
  waitingMax: 512,
});

/**
 * Of a request that is answered already: a database that restarts takes its connections with it, of the effect and of the answer alike.
 * There are as many as requests were under way when it went away, since none begins without it.
 */
async function settleLater(tenant: string, settling: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < settleAgainMax; tries++) {
    await sleep(settleAgainMs, undefined, { ref: false });
    const isSettled = await settlings.run(tenant, settling).then(
      () => true,
      () => false,
    );
    if (isSettled) return;
  }
}

/** What is refused for now is refused before anything is done. */
function hadNoEffect(error: unknown): boolean {
  return error instanceof RateLimitedError || error instanceof ExhaustedError;
}

function storable(result: Result, shownOnce: readonly string[]): StoredAnswer {
  const { content, ...answer } = toWireAnswer(without(result, shownOnce));
  if (content === undefined) return answer;
  return { ...answer, content: Buffer.byteLength(content) > storedBytesMax ? null : Buffer.from(content) };
}

function without(result: Result, fields: readonly string[]): Result {
  if (fields.length === 0) return result;
  if ('content' in result || typeof result.body !== 'object' || result.body === null) {
    throw new Error('An answer with fields that are shown once must be a JSON object');
  }
  const kept = Object.entries(result.body).filter(([name]) => !fields.includes(name));
  return { ...result, body: Object.fromEntries(kept) };
}

const passing: ReadonlySet<string> = new Set(['unavailable', 'rate_limited', 'exhausted']);

function storableError(error: unknown, where: OnceDeps['where']): StoredAnswer | undefined {
  if (!(error instanceof AppError) || passing.has(error.kind)) return undefined;
  const problem = toProblem(error, where);
  return {
    status: problem.status,
    headers: problemHeaders(problem, error),
    contentType: problemContentType,
    content: Buffer.from(JSON.stringify(problem)),
  };
}

function replay(key: string, { status, headers, contentType, content }: StoredAnswer, requestId: string): Result {
  if (content === null) {
    throw new ConflictError(
      'idempotency_answer_lost',
      `The first request with Idempotency-Key ${quoted(key)} was answered ${status}, with more than the ${storedBytesMax} bytes that are kept`,
    );
  }
  const replayed = { ...headers, 'Idempotency-Replayed': 'true' };
  if (content === undefined || contentType === undefined) return { status, headers: replayed };
  // A problem names the request it answers, which is this one.
  const text = content.toString();
  const mended =
    contentType === problemContentType ? JSON.stringify({ ...JSON.parse(text), request_id: requestId }) : text;
  return { status: status as Status, content: mended, contentType, headers: replayed };
}

function reused(key: string): InvalidError {
  return new InvalidError(
    'idempotency_key_reused',
    `Idempotency-Key ${quoted(key)} was used for another request within 24 h`,
  );
}

/** No request runs as long as this: its time to arrive and to answer is bounded well below. */
const runningMsMax = 120_000;

function unfinished(key: string, { outcome, ageMs }: { outcome: string; ageMs: number }): ConflictError {
  const began = `The first request with Idempotency-Key ${quoted(key)} began ${Math.round(ageMs / 1_000)} s ago`;
  if (outcome === 'unfinished' && ageMs < runningMsMax) {
    return new ConflictError('idempotency_in_flight', `${began} and has no answer yet; ask again for it`);
  }
  return new ConflictError(
    'idempotency_answer_lost',
    `${began} and left no answer: whether it had its effect is not known. Look before trying again with a new key`,
  );
}

const quoted = (key: string) => JSON.stringify(key.slice(0, 80));
