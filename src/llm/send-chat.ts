import { type Attempt, attempt } from './attempt.ts';
import type { ChatRequest, ChatResult } from './chat.ts';
import type { LlmLimits } from './limits.ts';
import type { Llm } from './llm.ts';
import { pause, pauseMs } from './pause.ts';
import { estimateTokens, readReply } from './read-reply.ts';

/**
 * Sends a chat request. Retries only what cannot have been billed: 429, 5xx, and a connection that
 * was never made. A timeout, an abort or a broken connection may have been billed, so the caller
 * decides whether to send it again. Never rejects: an error is a result.
 */
export async function sendChat(llm: Llm, request: ChatRequest): Promise<ChatResult> {
  const { model, messages, params, sharer, signal } = request;
  // Nothing reads log probabilities, and they have very many values.
  const body = { ...params, logprobs: undefined, top_logprobs: undefined, model, messages, stream: false };
  const { attemptsMax } = llm.limits;
  for (let tried = 1; ; tried++) {
    const place = await llm.places.take(sharer, signal);
    if (place === undefined) return unsent(signal);
    const result = await attempt(llm, body, signal).finally(() => place.release());
    if (result.ok) return finished(result, request, llm.limits);
    const { retry, headers, ...failure } = result;
    if (!retry || tried === attemptsMax) return failure;
    if (!(await pause(pauseMs({ attempt: tried, headers }, llm.limits), signal))) return unsent(signal);
  }
}

function unsent({ aborted }: AbortSignal): ChatResult {
  const [code, message] = aborted
    ? (['aborted', 'The request was aborted before it was sent'] as const)
    : (['provider_busy', 'Too many requests to the endpoint wait'] as const);
  return { ok: false, code, message, mayBeBilled: false, latencyMs: 0 };
}

function finished(
  { body, latencyMs }: Extract<Attempt, { ok: true }>,
  { messages }: ChatRequest,
  { textCharsMax }: LlmLimits,
): ChatResult {
  const invalid = { ok: false, code: 'provider_reply_invalid', mayBeBilled: true, latencyMs } as const;
  const reply = readReply(body);
  if (reply === undefined) return { ...invalid, message: 'The endpoint did not answer with a chat completion' };
  const { text, finishReason, usage } = reply;
  if (text.length > textCharsMax) {
    return { ...invalid, message: `The text of the response has more than ${textCharsMax} characters` };
  }
  const tokens = usage ?? {
    inputTokens: estimateTokens(messages.map(({ content }) => content)),
    outputTokens: estimateTokens([text]),
  };
  return { ok: true, text, finishReason, ...tokens, usageEstimated: usage === undefined, latencyMs };
}
