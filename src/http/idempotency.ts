import { setTimeout as sleep } from 'node:timers/promises';
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
import type { Contract, Result, Status } from './endpoint.ts';
import type { IdempotencyStore, IdempotentRequest, StoredAnswer } from './idempotent-request.ts';
import { problemContentType, problemHeaders, toProblem } from './problem.ts';
import { toWireAnswer } from './send-result.ts';

/** Larger responses are not stored. A repeated request gets an error that says so. */
export const storedBytesMax = 1024 * 1024;

/** Returns whether an endpoint supports `Idempotency-Key`. */
export function isIdempotent(contract: Contract): boolean {
  const creates = contract.method === 'POST' && (201 in contract.responses || 202 in contract.responses);
  const isRaw = 'kind' in contract && contract.kind === 'raw';
  return contract.idempotent ?? (creates && !isRaw && !('open' in contract.access));
}

/**
 * Reads the header. A repeated header is refused, because Node joins its values with a comma and a
 * space.
 * @throws MalformedError `invalid_header` unless the key is 1 to 255 visible ASCII characters
 */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  const given = JSON.stringify(String(header).slice(0, 80));
  throw new MalformedError(
    'invalid_header',
    `Idempotency-Key must be 1 to 255 visible ASCII characters; given ${given}`,
  );
}

interface OnceDeps {
  store: IdempotencyStore;
  request: IdempotentRequest;
  shownOnce: readonly string[];
  where: { requestId: string; instance: string };
  /**
   * Called when the response could not be stored. The request has already taken effect, so its
   * response is still returned.
   */
  onStoreError: (error: unknown) => void;
}

/**
 * Runs the handler for the first request with a key, and returns its response again to later ones.
 * A temporary refusal (429, 402) is forgotten, so the key can be used again. An internal failure
 * (5xx) may have taken effect: the same request runs again with the same `effectId`, also after a refusal of it. If the
 * connection to the database broke during a commit, Postgres tells afterwards whether it was stored. If it was, or if the
 * process died, the request never runs again, and until the key expires the response is 409.
 * @throws InvalidError `idempotency_key_reused`
 * @throws ConflictError `idempotency_in_flight` or `idempotency_answer_lost`
 */
export async function answerOnce(deps: OnceDeps, run: (effectId: string) => Promise<Result>): Promise<Result> {
  const { store, request, where } = deps;
  const begun = await store.begin(request).catch((error: unknown) => {
    if (error instanceof OutcomeUnknownError) unbeginLater(store, request, error);
    throw error;
  });
  if (begun.outcome === 'answered') return replay(request.key, begun.answer, where.requestId);
  if (begun.outcome === 'reused') throw reused(request.key);
  if (begun.outcome === 'lost') throw lost(request.key, begun.ageMs);
  if (begun.outcome === 'unfinished') throw unfinished(request.key, begun.ageMs);
  const { lease } = begun;
  const storeOutcome = (storing: () => Promise<void>) =>
    storing().catch((error: unknown) => {
      deps.onStoreError(error);
      void storeLater(request, storing);
    });
  try {
    const result = await run(lease);
    if (result.status >= 500) await storeOutcome(() => store.postpone(request, lease));
    else {
      const answer = storable(result, deps.shownOnce);
      await storeOutcome(() => store.finish(request, lease, answer));
    }
    return result;
  } catch (error) {
    const answer = storableError(error, where);
    if (answer) await storeOutcome(() => store.finish(request, lease, answer));
    else if (error instanceof OutcomeUnknownError)
      await storeOutcome(() => store.settle(request, lease, error.transactionId));
    else
      await storeOutcome(() =>
        hadNoEffect(error) && !begun.isAgain ? store.abandon(request, lease) : store.postpone(request, lease),
      );
    throw error;
  }
}

/** Without an id, nothing was stored. */
function unbeginLater(
  store: IdempotencyStore,
  request: IdempotentRequest,
  { transactionId }: OutcomeUnknownError,
): void {
  if (transactionId !== undefined) void storeLater(request, () => store.unbegin(request, transactionId));
}

const storeAgainMs = 1_000;
const storeAgainMax = 60;
/**
 * Stores outcomes that could not be stored immediately. All projects and workspaces share it in turn, and it uses at
 * most two connections. Work beyond a tenant's limit is tried again a second later.
 */
const storings = new FairLane({
  name: 'responses to store',
  capacity: 2,
  perKey: 1,
  waitingPerKey: 64,
  waitingMax: 512,
});

/**
 * Stores the outcome of an answered request, with one try a second and at most 60. A restart of the
 * database breaks the connections for the effect and the outcome. Only requests then in progress
 * come here, since none begins without the database.
 */
async function storeLater({ tenant }: IdempotentRequest, storing: () => Promise<void>): Promise<void> {
  const [shared = tenant] = tenant.split(' ', 1);
  for (let tries = 0; tries < storeAgainMax; tries++) {
    await sleep(storeAgainMs, undefined, { ref: false });
    const isStored = await storings.run(shared, storing).then(
      () => true,
      () => false,
    );
    if (isStored) return;
  }
}

/** Returns whether the request was refused temporarily, which happens before it does anything. */
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
    throw new Error('A response with fields that are shown once must be a JSON object');
  }
  const kept = Object.entries(result.body).filter(([name]) => !fields.includes(name));
  return { ...result, body: Object.fromEntries(kept) };
}

const passing: ReadonlySet<string> = new Set(['unavailable', 'rate_limited', 'exhausted']);

function storableError(error: unknown, where: OnceDeps['where']): StoredAnswer | undefined {
  if (!(error instanceof AppError) || passing.has(error.kind)) return undefined;
  const problem = toProblem(error, where);
  const content = Buffer.from(JSON.stringify(problem));
  return {
    status: problem.status,
    headers: problemHeaders(problem, error),
    contentType: problemContentType,
    content: content.length > storedBytesMax ? null : content,
  };
}

function replay(key: string, { status, headers, contentType, content }: StoredAnswer, requestId: string): Result {
  if (content === null) {
    throw new ConflictError(
      'idempotency_answer_lost',
      `The first request with Idempotency-Key ${quoted(key)} got the status ${status}. Its response was not stored, because it has more than ${storedBytesMax} bytes`,
    );
  }
  const replayed = { ...headers, 'Idempotency-Replayed': 'true' };
  if (content === undefined || contentType === undefined) return { status, headers: replayed };
  // A problem names the request it answers, so its request id is replaced with that of this
  // request.
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

/** Longer than any request runs: the time to arrive and to answer is limited to much less. */
const runningMsMax = 120_000;

function unfinished(key: string, ageMs: number): ConflictError {
  if (ageMs < runningMsMax) {
    return new ConflictError(
      'idempotency_in_flight',
      `${began(key, ageMs)} and has no response yet. Send the request again to get it`,
    );
  }
  return new ConflictError(
    'idempotency_answer_lost',
    `${began(key, ageMs)} and has no stored response. It is not known whether it took effect. Check this before you try again with a new key`,
  );
}

function lost(key: string, ageMs: number): ConflictError {
  return new ConflictError(
    'idempotency_answer_lost',
    `${began(key, ageMs)} and took effect, but its response was lost. Read what it made instead of sending it again`,
  );
}

const began = (key: string, ageMs: number) =>
  `The first request with Idempotency-Key ${quoted(key)} started ${Math.round(ageMs / 1_000)} s ago`;
const quoted = (key: string) => JSON.stringify(key.slice(0, 80));
