export interface ChatRequest {
  model: string;
  messages: readonly { role: string; content: string }[];
  /** Other members of the request: `temperature`, `max_tokens`, `response_format`. */
  params: Readonly<Record<string, unknown>>;
  /** Who shares the endpoint with others: a workspace. */
  sharer: string;
  signal: AbortSignal;
}

export type ChatFailureCode =
  | 'provider_auth'
  | 'provider_model_not_found'
  | 'provider_rate_limited'
  | 'provider_error'
  | 'provider_refused'
  | 'provider_timeout'
  | 'provider_unreachable'
  | 'provider_reply_invalid'
  | 'provider_busy'
  | 'aborted';

/**
 * A finished call, or why there is none. `latencyMs` is that of the last request, without the time
 * that the call waited. At most one request of a call may be billed: its last one.
 */
export type ChatResult =
  | {
      ok: true;
      text: string;
      finishReason: string | null;
      inputTokens: number;
      outputTokens: number;
      /** Whether the tokens are an estimate, because the endpoint did not report them. */
      usageEstimated: boolean;
      latencyMs: number;
    }
  | { ok: false; code: ChatFailureCode; message: string; mayBeBilled: boolean; latencyMs: number };
