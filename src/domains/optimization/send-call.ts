import { storableText } from '../../lib/storable-text.ts';
import type { ChatResult } from '../../llm/chat.ts';
import type { Llm } from '../../llm/llm.ts';
import { sendChat } from '../../llm/send-chat.ts';
import { type ModelCall, RunFailed } from '../prompt-search/index.ts';
import type { Run } from './run.ts';

/**
 * Sends a call of a run. It retries by itself only what the provider has not billed. An error is a
 * result.
 * @throws RunFailed if no endpoint is configured
 */
export type SendCall = (request: {
  run: Pick<Run, 'workspaceId'>;
  call: ModelCall;
  signal: AbortSignal;
}) => Promise<ChatResult>;

/** Sends calls to the configured endpoint. Its places are shared by workspaces. */
export function sendTo(llm: Llm | undefined): SendCall {
  return async ({ run, call: { model, messages, params }, signal }) => {
    if (llm === undefined) {
      throw new RunFailed('provider_model_not_found', `${model} was not called: LLM_BASE_URL of the worker is not set`);
    }
    const result = await sendChat(llm, { model, messages, params, sharer: run.workspaceId, signal });
    // What is used now must equal what a replay reads.
    if (result.ok) return { ...result, text: storableText(result.text) };
    return { ...result, message: storableText(result.message) };
  };
}
