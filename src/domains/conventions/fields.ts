import type { Field } from './candidates.ts';
import { reportedCost } from './cost.ts';
import { inputElsewhere, outputElsewhere } from './elsewhere.ts';
import { evaluations } from './evaluations.ts';
import { conversationId, sessionId, tags, userId } from './identity.ts';
import { kind } from './kind.ts';
import { model, provider, requestModel, responseId } from './model.ts';
import { displayName } from './name.ts';
import { params } from './params.ts';
import { promptRef } from './prompt-ref.ts';
import { spanEnvironment, spanRelease } from './resource.ts';
import { errorLevel, errorMessage, errorStack, errorType, httpStatusCode } from './status.ts';
import { input, output, toolInput, toolOutput } from './text.ts';
import { ttftMs } from './time-to-first-token.ts';
import { cacheReadTokens, cacheWriteTokens, inputTokens, outputTokens, reasoningTokens, totalTokens } from './usage.ts';

/** All fields; their order has no meaning. */
export const fields: readonly Field<unknown>[] = [
  kind,
  displayName,
  model,
  requestModel,
  provider,
  responseId,
  inputTokens,
  outputTokens,
  totalTokens,
  cacheReadTokens,
  cacheWriteTokens,
  reasoningTokens,
  reportedCost,
  toolInput,
  toolOutput,
  input,
  output,
  inputElsewhere,
  outputElsewhere,
  sessionId,
  conversationId,
  userId,
  tags,
  errorLevel,
  errorType,
  errorMessage,
  errorStack,
  httpStatusCode,
  ttftMs,
  promptRef,
  params,
  evaluations,
  spanEnvironment,
  spanRelease,
];
