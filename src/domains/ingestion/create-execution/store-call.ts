import { createHash } from 'node:crypto';
import { oneTurn } from '../../../lib/pace.ts';
import { unixNanoFromDate } from '../../../lib/time.ts';
import { cutUtf8 } from '../../../otlp/text.ts';
import type { BodyPublisher } from '../../../queue/body-publisher.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import { bodyMeters } from '../../quotas/index.ts';
import { limitsOf, type ProjectScope } from '../../workspaces/index.ts';
import { jobIdOf } from '../receive/keep-body.ts';
import type { QueueGate } from '../receive/queue-gate.ts';
import { encodeExecution } from './encode-execution.ts';
import { byteLengthOf, textOf } from './json-size.ts';
import { executionLimits } from './limits.ts';

export interface StoreCallDeps {
  publisher: Pick<BodyPublisher, 'publish'>;
  clock: Pick<RedisClock, 'nowMs'>;
  /** Learns how much the workspace has waiting. Ask it for room before a call is made. */
  gate: Pick<QueueGate, 'noteBacklog'>;
}

/** A call of a model that the service made itself. Times are in ms since the epoch. */
export interface OwnCall {
  name: string;
  model: string;
  messages: readonly { role: string; content: string }[];
  /** Null for a call without a response. */
  output: string | null;
  error: { type: string; message: string } | null;
  startedAtMs: number;
  endedAtMs: number;
  usage: { inputTokens: number; outputTokens: number };
  tags: readonly string[];
  /** What is found as attributes `promptlane.metadata.*`. */
  metadata: Readonly<Record<string, string | number>>;
}

/**
 * Queues a call of the service itself as an execution of a project, on the same way as every other
 * span: it is priced and counted. It names no prompt, so analytics of prompts do not contain it.
 * `identity` names the call within the project: trace, span and job are derived from it, so that a
 * repeat replaces the execution. Returns the trace id.
 * @throws UnavailableError when it could not be queued
 */
export async function storeCall(
  { publisher, clock, gate }: StoreCallDeps,
  { project, identity, call }: { project: ProjectScope; identity: readonly (string | number)[]; call: OwnCall },
): Promise<string> {
  const { projectId, workspaceId } = project;
  const { retentionDays } = limitsOf(project);
  const receivedAtMs = clock.nowMs();
  const hash = createHash('sha256')
    .update(JSON.stringify([projectId, ...identity]))
    .digest('hex');
  const [traceId, spanId] = [hash.slice(0, 32), hash.slice(32, 48)];
  const body = await encodeExecution(traceId, [spanOf(call, spanId)], { rest: oneTurn });
  const size = { inflatedBytes: body.length, spans: 1 };
  const payload = { v: 1 as const, projectId, workspaceId, retentionDays, ...size, receivedAtMs };
  const meters = bodyMeters(workspaceId, { spans: 1, bytes: body.length }, receivedAtMs);
  const jobId = jobIdOf([projectId, 'call', traceId, spanId], Buffer.alloc(0));
  const named = { ...payload, encoding: 'json' as const, coding: 'identity' as const };
  const { backlog } = await publisher.publish(jobId, body, named, meters);
  gate.noteBacklog(workspaceId, backlog);
  return traceId;
}

function spanOf({ name, model, startedAtMs, endedAtMs, ...call }: OwnCall, spanId: string) {
  const { inputTokens, outputTokens } = call.usage;
  return {
    ...{ spanId, parentSpanId: '', name, kind: 'llm' as const, environment: '' },
    startUnixNano: unixNanoFromDate(new Date(startedAtMs)),
    endUnixNano: unixNanoFromDate(new Date(Math.max(startedAtMs, endedAtMs))),
    fields: {
      model,
      input: bounded(call.messages),
      output: call.output === null ? undefined : bounded([{ role: 'assistant', content: call.output }]),
      error: call.error,
      usage: { input_tokens: inputTokens, output_tokens: outputTokens },
      tags: [...call.tags],
      metadata: call.metadata,
    },
  };
}

/** Above the bound of one value, the beginning is kept as text. */
function bounded(value: unknown): unknown {
  if (byteLengthOf(value) <= executionLimits.contentBytesMax) return value;
  const bytes = Buffer.from(textOf(value));
  return bytes.toString('utf8', 0, cutUtf8(bytes, 0, bytes.length, executionLimits.contentBytesMax));
}
