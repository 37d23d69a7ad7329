import { afterAll, beforeAll } from 'vitest';
import { ReadLanes } from '../../src/domains/executions/read-lanes.ts';
import { readTrace } from '../../src/domains/executions/read-trace.ts';
import type { TraceReadInput, TraceReadName } from '../../src/domains/executions/trace-reads.ts';
import { TraceThreads } from '../../src/domains/executions/trace-threads.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from './api.ts';
import { connectExecutions } from './executions.ts';

const cursorSecret = 'of no cursor here';
/** The traces of these tests name no prompts. */
const knownPrompts = { of: () => ({ find: async () => new Map() }) };

/** An API, a project of it, its tables and the threads of its reads, for the tests of one file. */
export interface TraceReadsOfTest {
  api: TestApi;
  project: ProjectOfTest;
  store: ReturnType<typeof connectExecutions>;
  threads: TraceThreads;
}

/** Starts what the tests of one file use, and ends it after them. */
export function useTraceReads(): TraceReadsOfTest {
  const it = {} as TraceReadsOfTest;
  beforeAll(async () => {
    it.api = await startApi();
    it.project = await newProject(it.api);
    it.store = connectExecutions(it.api);
    it.threads = traceThreads(it.api.config.clickhouseUrl);
  });
  afterAll(async () => {
    await it.threads.close();
    await it.store.close();
    await it.api.close();
  });
  return it;
}

/** Returns the threads of the reads of a ClickHouse. */
export function traceThreads(clickhouseUrl: string): TraceThreads {
  return new TraceThreads({ clickhouseUrl, cursorSecret, knownPrompts });
}

/** Returns what {@link readAsApi} reads with. Reads with the same know which traces are large. */
export function readDeps(given: { clickhouse: ClickHouse; threads: TraceThreads }) {
  return { ...given, knownPrompts, cursorSecret, lanes: new ReadLanes() };
}

/** Reads as the API does, and parses the answer. */
export async function readAsApi<Name extends TraceReadName>(
  deps: ReturnType<typeof readDeps>,
  name: Name,
  input: TraceReadInput<Name>,
) {
  const reader = { workspaceId: 'wsp_reader', signal: new AbortController().signal };
  const { content } = await readTrace(deps, name, input, reader);
  return JSON.parse(Buffer.from(content).toString());
}
