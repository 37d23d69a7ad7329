import type { ReadLoad, RequestLoad, RequestResult } from './requests.ts';
import type { LatencyLists, SendResult } from './send-result.ts';

/** The target of the load. */
export interface LoadTarget {
  url: string;
  apiKey: string;
  projectId: string;
}

/** The commands of the load generator. It runs one command at a time. */
export interface LoadCommands {
  prepare: {
    input: { count: number; spansPerBody: number; traceIdPrefix: string };
    output: { gzipBytes: number; plainBytes: number };
  };
  /** Sends renders of one prompt instead of traces. Each has its own question. */
  prepareRenders: { input: { count: number; path: string }; output: { bodyBytes: number } };
  closedLoop: { input: { connections: number; seconds: number }; output: SendResult };
  openLoop: {
    input: {
      bodiesPerS: number;
      connectionsMax: number;
      sampleEveryTraces?: number;
      pollEveryMs?: number;
      /** Log records for the spans of each body, sent in turn half an interval before it and after it. */
      recordsPerBody?: number;
    };
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
