import type { CallKind, ModelCall } from './search/ports.ts';

/** The response of a model, or why there is none. */
export type ChatOutcome =
  | {
      ok: true;
      text: string;
      /** null if the provider told no usage. */
      usage: { inputTokens: number; outputTokens: number } | null;
      latencyMs: number;
    }
  | {
      ok: false;
      /** `provider_auth` and `provider_model_not_found` end the run. */
      code: string;
      message: string;
      /** Whether the provider may have billed it: a timeout, an abort, or an end within the response. */
      billed: boolean;
      /** Whether the same request may succeed later. */
      retryable: boolean;
    };

/** A request of a run, and whose it is. Nothing of `about` is sent to the provider. */
export interface ChatRequest extends Pick<ModelCall, 'model' | 'messages' | 'params'> {
  signal: AbortSignal;
  about: { projectId: string; workspaceId: string; promptId: string; runId: string; kind: CallKind };
}

/**
 * Sends one request. Retries of its own are only those that the provider has not billed. Rejects only
 * with the reason of the signal.
 */
export type SendChat = (request: ChatRequest) => Promise<ChatOutcome>;
