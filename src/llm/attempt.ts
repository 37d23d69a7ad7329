import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from 'openai';
import { ReplyTooLarge } from './bounded-fetch.ts';
import type { ChatFailureCode } from './chat.ts';
import type { Llm } from './llm.ts';
import { NotConnected } from './not-connected.ts';

/** What became of one request. `retry`: another attempt makes sense and cannot be billed twice. */
export type Attempt =
  | { ok: true; body: unknown; latencyMs: number }
  | {
      ok: false;
      code: ChatFailureCode;
      message: string;
      mayBeBilled: boolean;
      retry: boolean;
      headers: Headers | undefined;
      latencyMs: number;
    };

type Failure = Omit<Extract<Attempt, { ok: false }>, 'ok' | 'latencyMs'>;

const messageCharsMax = 500;

/** Sends one request. Never rejects: an error is a result. */
export async function attempt(llm: Llm, body: object, signal: AbortSignal): Promise<Attempt> {
  const startedAtMs = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAtMs);
  const own = linkedTo(signal);
  try {
    const reply: unknown = await llm.client.post('/chat/completions', { body, signal: own.signal });
    return { ok: true, body: reply, latencyMs: latencyMs() };
  } catch (error) {
    const failure = failureOf(error, llm);
    const message = llm.withoutKey(failure.message).slice(0, messageCharsMax);
    return { ok: false, ...failure, message, latencyMs: latencyMs() };
  } finally {
    own.unlink();
  }
}

/**
 * Returns a signal for one request. The client adds a listener that it never removes, so on a signal of
 * thousands of requests they would pile up.
 */
function linkedTo(signal: AbortSignal): { signal: AbortSignal; unlink: () => void } {
  const own = new AbortController();
  const abort = () => own.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return { signal: own.signal, unlink: () => signal.removeEventListener('abort', abort) };
}

function failureOf(error: unknown, { limits }: Llm): Failure {
  const broken = { mayBeBilled: true, retry: false, headers: undefined };
  if (error instanceof APIUserAbortError) return { ...broken, code: 'aborted', message: 'The request was aborted' };
  if (error instanceof APIConnectionTimeoutError) {
    return {
      ...broken,
      code: 'provider_timeout',
      message: `The endpoint did not answer within ${limits.timeoutMs} ms`,
    };
  }
  if (error instanceof APIConnectionError) return connectionFailure(error);
  if (error instanceof APIError && typeof error.status === 'number') return statusFailure(error, error.status);
  return { ...broken, code: 'provider_reply_invalid', message: 'The endpoint did not answer with JSON' };
}

function connectionFailure(error: APIConnectionError): Failure {
  const { cause, message } = error;
  const rest = { headers: undefined, code: 'provider_unreachable' } as const;
  if (cause instanceof ReplyTooLarge) {
    return { ...rest, code: 'provider_reply_invalid', message: cause.message, mayBeBilled: true, retry: false };
  }
  if (cause instanceof NotConnected) {
    const why = `${cause.message}, so nothing was sent (${cause.code})`;
    return { ...rest, message: why, mayBeBilled: false, retry: true };
  }
  // A connection that broke after the request was sent says nothing of whether it was billed.
  return { ...rest, message, mayBeBilled: true, retry: false };
}

const codes: Readonly<Record<number, ChatFailureCode>> = {
  401: 'provider_auth',
  403: 'provider_auth',
  404: 'provider_model_not_found',
  429: 'provider_rate_limited',
};

/** A response with an error status is not billed. */
function statusFailure(error: APIError, status: number): Failure {
  const isServers = status >= 500;
  const isRedirect = status >= 300 && status < 400;
  return {
    code: codes[status] ?? (isServers ? 'provider_error' : 'provider_refused'),
    message: isRedirect ? `The endpoint answered with ${status}; redirects are not followed` : error.message,
    mayBeBilled: false,
    retry: status === 429 || isServers,
    headers: error.headers ?? undefined,
  };
}
