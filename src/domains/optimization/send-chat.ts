import type { CallTokens } from './call-prices.ts';
import type { Run } from './run.ts';
import type { ModelCall } from './search/ports.ts';

/** The response of a model, or why there is none. */
export type ChatResult =
  | {
      ok: true;
      text: string;
      inputTokens: number;
      outputTokens: number;
      /** Whether the tokens are an estimate, because the endpoint did not report them. */
      usageEstimated: boolean;
      latencyMs: number;
    }
  /** `provider_auth` and `provider_model_not_found` end the run. `mayBeBilled`: a timeout, an abort, a broken response. */
  | { ok: false; code: string; message: string; mayBeBilled: boolean; latencyMs: number };

/** A call of a run that is about to be sent. Only the model, messages and params of `call` are sent. */
export interface ChatRequest {
  run: Pick<Run, 'id' | 'projectId' | 'workspaceId' | 'promptId'>;
  call: ModelCall;
  /** Numbers the requests of one call, from 1. */
  attempt: number;
  /** What the request counts with if no response tells it. */
  reserved: CallTokens;
  signal: AbortSignal;
}

/**
 * Sends one request. It retries by itself only what the provider has not billed. An error is a
 * result.
 */
export type SendChat = (request: ChatRequest) => Promise<ChatResult>;
