import type { ReadLoad, RequestLoad, RequestResult } from './requests.ts';
import type { LatencyLists, SendResult } from './send-result.ts';

/** Where the load goes. */
export interface LoadTarget {
  url: string;
  apiKey: string;
  projectId: string;
}

/** What the load generator can be told to do, one command at a time. */
export interface LoadCommands {
  prepare: {
    input: { count: number; spansPerBody: number; traceIdPrefix: string };
    output: { gzipBytes: number; plainBytes: number };
  };
  /** Instead of traces: renders of one prompt, each with a question of its own. */
  prepareRenders: { input: { count: number; path: string }; output: { bodyBytes: number } };
  closedLoop: { input: { connections: number; seconds: number }; output: SendResult };
  openLoop: {
    input: { bodiesPerS: number; connectionsMax: number; sampleEveryTraces?: number; pollEveryMs?: number };
    output: SendResult & LatencyLists;
  };
  requests: { input: RequestLoad; output: RequestResult };
  reads: { input: ReadLoad; output: Float64Array };
  prepareBomb: { input: { inflatedBytes: number }; output: { gzipBytes: number } };
  sendBomb: { input: Record<string, never>; output: { status: string; ms: number } };
}

export type CommandName = keyof LoadCommands;

export type LoadRequest = { [Name in CommandName]: { name: Name; input: LoadCommands[Name]['input'] } }[CommandName];

export type LoadReply = { output: unknown } | { error: string };
