import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { encodeSpans } from '../support/otlp-encode.ts';
import { aModelCall } from '../support/spans.ts';
import { until } from '../support/until.ts';
import type { Findings } from './findings.ts';
import type { World } from './world.ts';

/** Looks at the list until every trace is there. */
const listedLooksMax = 20;
const everyMs = 500;
const readableMsMax = 60_000;
const listLimit = 100;

/** The results of the innocent workspace. Times are in ms. */
export interface CanaryFigures {
  sent: number;
  readableMs: number[];
  renderMs: number[];
  listMs: number[];
}

/**
 * An innocent workspace that runs at the same time as the attacker. It sends traces, reads them,
 * renders and lists. `finish` compares the acknowledged traces with the stored ones.
 */
export function startCanary({ apiUrl, canary }: World, findings: Findings) {
  const figures: CanaryFigures = { sent: 0, readableMs: [], renderMs: [], listMs: [] };
  const acknowledged: string[] = [];
  const stopping = new AbortController();
  const project = `${apiUrl}/api/projects/${canary.projectId}`;
  const headers = { 'X-API-Key': canary.apiKey };

  async function attempt(
    what: string,
    into: number[] | undefined,
    url: string,
    init: RequestInit = {},
  ): Promise<Response | undefined> {
    const startedAtMs = performance.now();
    try {
      const response = await fetch(url, {
        ...init,
        headers: { ...headers, ...init.headers },
        signal: AbortSignal.timeout(30_000),
      });
      const body = await response.arrayBuffer();
      if (!response.ok)
        findings.add(
          'canary',
          `the canary's ${what} got the response ${response.status}`,
          Buffer.from(body).toString().slice(0, 300),
        );
      else into?.push(performance.now() - startedAtMs);
      return response.ok ? new Response(body) : undefined;
    } catch (error) {
      findings.add('canary', `the canary's ${what} had no response`, String(error));
      return undefined;
    }
  }

  async function sendAndReadBack(): Promise<void> {
    const traceId = randomBytes(16).toString('hex');
    const body = new Uint8Array(
      encodeSpans('protobuf', [aModelCall(10, 5, { traceId }), aModelCall(3, 2, { traceId })]),
    );
    const sentAtMs = performance.now();
    const answer = await attempt('POST of spans', undefined, `${apiUrl}/api/v1/traces`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-protobuf' },
      body,
    });
    if (answer === undefined) return;
    acknowledged.push(traceId);
    figures.sent++;
    await until(
      `${traceId} is readable`,
      readableMsMax,
      async () => (await fetch(`${project}/executions/${traceId}`, { headers })).ok,
    )
      .then(() => figures.readableMs.push(performance.now() - sentAtMs))
      .catch(() =>
        findings.add('canary', `a trace of the canary was not readable within ${readableMsMax} ms`, traceId),
      );
  }

  async function run(): Promise<void> {
    const reading: Promise<void>[] = [];
    while (!stopping.signal.aborted) {
      reading.push(sendAndReadBack());
      const json = { 'Content-Type': 'application/json' };
      await attempt('render', figures.renderMs, `${project}/prompts/${canary.promptId}/render`, {
        method: 'POST',
        headers: json,
        body: '{"variables":{"who":"you"}}',
      });
      await attempt('list', figures.listMs, `${project}/executions?limit=5`);
      await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    await Promise.all(reading);
  }

  /**
   * Checks that every acknowledged trace is listed once with its two spans. A trace is readable before
   * its summary is stored, so the list gets some time.
   */
  async function checkAll(): Promise<void> {
    let wrong = await wronglyListed();
    for (let looks = 1; wrong.length > 0 && looks < listedLooksMax; looks++) {
      await delay(everyMs);
      wrong = await wronglyListed();
    }
    if (wrong.length === 0) return;
    const title = 'acknowledged traces of the canary are not listed once with all their spans';
    findings.add('canary', title, `${wrong.length} of ${acknowledged.length}: ${wrong.slice(0, 5)}`);
  }

  /** Returns the acknowledged traces that are not listed once, each with the counts that are listed. */
  async function wronglyListed(): Promise<string[]> {
    const listed = new Map<string, number[]>();
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const response = await attempt(
        'read of all pages of its list',
        undefined,
        `${project}/executions?limit=${listLimit}&fields=trace_id,span_count${query}`,
      );
      if (response === undefined) return [];
      const { data, page } = (await response.json()) as {
        data: { trace_id: string; span_count: number }[];
        page: { next_cursor: string | null };
      };
      for (const { trace_id, span_count } of data) listed.set(trace_id, [...(listed.get(trace_id) ?? []), span_count]);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return acknowledged
      .filter((traceId) => String(listed.get(traceId)) !== '2')
      .map((traceId) => `${traceId} (${listed.get(traceId)})`);
  }

  const running = run();
  return {
    figures,
    async finish() {
      stopping.abort();
      await running;
      await checkAll();
    },
  };
}
