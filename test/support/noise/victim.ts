import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SendLog } from '../sender.ts';
import type { Project, Stack } from '../stack.ts';
import { until } from '../until.ts';
import { percentile } from './statistics.ts';

/**
 * 95th percentiles in milliseconds of each kind of request, of the time from sending a trace until it is
 * readable and listed, and of the time from sending a log record until its span has its content.
 */
export interface Figures {
  requestP95Ms: Readonly<Record<string, number>>;
  readableP95Ms: number;
  contentP95Ms: number;
  /** Responses other than 2xx, and requests without a response. */
  failures: readonly string[];
}

/** Milliseconds of each request by kind, and of each trace and log record until it was readable. */
export interface Samples {
  requestMs: ReadonlyMap<string, readonly number[]>;
  readableMs: readonly number[];
  contentMs: readonly number[];
  failures: readonly string[];
}

/** Merges the figures of several measurements. */
export function figuresOf(measured: readonly Samples[]): Figures {
  const names = [...new Set(measured.flatMap(({ requestMs }) => [...requestMs.keys()]))];
  const p95 = (read: (samples: Samples) => readonly number[]) => percentile(measured.flatMap(read), 0.95);
  return {
    requestP95Ms: Object.fromEntries(names.map((name) => [name, p95(({ requestMs }) => requestMs.get(name) ?? [])])),
    readableP95Ms: p95(({ readableMs }) => readableMs),
    contentP95Ms: p95(({ contentMs }) => contentMs),
    failures: measured.flatMap(({ failures }) => failures),
  };
}

type Operation = readonly [name: string, method: keyof typeof pauseMs, path: string, body?: unknown];

/**
 * Average pause between a response and the next request of its kind. The five kinds of reads
 * together use the rate of the plan `pro`. More requests would use two processors alone. Fewer
 * requests would give too few samples.
 */
const pauseMs = { GET: 300, POST: 100 };
const retryPauseMs = 60;
const sendPauseMs = 200;
/** Interval of polling. A shorter one would keep the engine busy. */
const lookPauseMs = 100;
const readableMsMax = 30_000;
/** No content is there earlier, and each look is a read more than the plan has. */
const contentMsMin = 350;

interface SpanIds {
  traceId: string;
  spanId: string;
}

/**
 * An ordinary workspace: programs that render prompts, read executions and send traces at the rate
 * of the plan `pro`, and log records with the content of some spans.
 */
export class Victim {
  readonly #stack: Stack;
  readonly #project: Project;
  /** All acknowledged traces. */
  readonly log = new SendLog();
  #operations: Operation[] = [];

  constructor(stack: Stack, project: Project) {
    this.#stack = stack;
    this.#project = project;
  }

  get project(): Project {
    return this.#project;
  }

  /** Creates the prompts and executions that it reads. */
  async prepare(): Promise<void> {
    const base = `/api/projects/${this.#project.id}`;
    const text = { type: 'text', template: 'Hello {{name}}, {{#items}}{{.}} {{/items}}' };
    await this.#expectCreated(`${base}/prompts`, { name: 'greeting', ...text });
    const liquid = {
      type: 'text',
      template_format: 'liquid',
      template: '{% for i in items %}{{ i | upcase }}{% endfor %}',
    };
    await this.#expectCreated(`${base}/prompts`, { name: 'loud', ...liquid });
    const { traceId: first } = await this.#send();
    await until('the first trace is readable', readableMsMax, () => this.#isReadable(first));
    const variables = { name: 'you', items: ['a', 'b', 'c'] };
    this.#operations = [
      ['render', 'POST', `${base}/prompts/greeting/render`, { variables }],
      ['render liquid', 'POST', `${base}/prompts/loud/render`, { variables }],
      ['read a prompt', 'GET', `${base}/prompts/greeting`],
      ['list prompts', 'GET', `${base}/prompts`],
      ['list executions', 'GET', `${base}/executions?limit=20`],
      ['read an execution', 'GET', `${base}/executions/${first}`],
      ['who am I', 'GET', '/api/me/context'],
    ];
    await this.measure(1_000);
  }

  /** Sends requests for `forMs` and returns their times. */
  async measure(forMs: number): Promise<Samples> {
    const untilMs = performance.now() + forMs;
    const failures: string[] = [];
    // Traces and log records together: there are too few records for a 95th percentile.
    const sendMs: number[] = [];
    const requestMs = new Map([['send a body', sendMs]]);
    const readableMs: number[] = [];
    const contentMs: number[] = [];
    const run = async (operation: Operation) => {
      const samples: number[] = [];
      requestMs.set(operation[0], samples);
      while (performance.now() < untilMs) {
        samples.push(await this.#timed(operation, failures));
        // The pause is random, so that the kinds are not sent at the same time.
        await delay(pauseMs[operation[1]] * (0.5 + Math.random()));
      }
    };
    const send = async () => {
      const startedAtMs = performance.now();
      const ids = await this.#send(failures);
      sendMs.push(performance.now() - startedAtMs);
      await delay(sendPauseMs);
      return { ...ids, startedAtMs };
    };
    const sendOn = async () => {
      while (performance.now() < untilMs) await send();
    };
    const follow = async () => {
      while (performance.now() < untilMs) {
        const { traceId, startedAtMs } = await send();
        await until(
          `${traceId} is readable and listed`,
          readableMsMax,
          async () => (await this.#isReadable(traceId)) || delay(lookPauseMs, false),
        );
        readableMs.push(performance.now() - startedAtMs);
      }
    };
    const describe = async () => {
      while (performance.now() < untilMs) {
        const ids = await send();
        const startedAtMs = performance.now();
        const content = await this.#sendRecord(ids, failures);
        sendMs.push(performance.now() - startedAtMs);
        await delay(contentMsMin);
        const isThere = async () => (await this.#read(ids.traceId)).text.includes(content);
        const looks = async () => (await isThere()) || delay(lookPauseMs, false);
        await until(`${ids.traceId} has its content`, readableMsMax, looks);
        contentMs.push(performance.now() - startedAtMs);
      }
    };
    await Promise.all([...this.#operations.map(run), sendOn(), follow(), describe()]);
    return { requestMs, readableMs, contentMs, failures };
  }

  async #timed([name, method, path, body]: Operation, failures: string[]): Promise<number> {
    const startedAtMs = performance.now();
    const answer = await this.#fetch(method, path, body);
    if (!answer.ok) failures.push(`${name}: ${answer.text}`);
    return performance.now() - startedAtMs;
  }

  /** Sends one trace of one span. An exporter would send it again after a refusal. Here every refusal is a failure. */
  async #send(failures: string[] = []): Promise<SpanIds> {
    const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    const key = `${traceId}/${spanId}`;
    const times = { startTimeUnixNano: `${Date.now()}000000`, endTimeUnixNano: `${Date.now() + 1}000000` };
    const span = { traceId, spanId, name: 'victim', kind: 1, ...times };
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
    this.log.attempted.add(key);
    await this.#sendUntilTaken('/api/v1/traces', body, failures);
    this.log.acknowledged.add(key);
    return { traceId, spanId };
  }

  /** Sends the input of a span as a log record, and returns its text. */
  async #sendRecord(ids: SpanIds, failures: string[]): Promise<string> {
    const content = `input ${randomBytes(8).toString('hex')}`;
    const value = { kvlistValue: { values: [{ key: 'content', value: { stringValue: content } }] } };
    const record = { ...ids, timeUnixNano: `${Date.now()}000000`, eventName: 'gen_ai.user.message', body: value };
    const body = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] };
    await this.#sendUntilTaken('/api/v1/logs', body, failures);
    return content;
  }

  async #sendUntilTaken(path: string, body: unknown, failures: string[]): Promise<void> {
    for (;;) {
      const answer = await this.#fetch('POST', path, body);
      if (answer.ok) return;
      failures.push(`POST ${path}: ${answer.text}`);
      await delay(retryPauseMs);
    }
  }

  /** Waits until the trace is readable by its id and in the list. */
  async #isReadable(traceId: string): Promise<boolean> {
    if (!(await this.#read(traceId)).ok) return false;
    const list = await this.#fetch('GET', `/api/projects/${this.#project.id}/executions?limit=20&fields=trace_id`);
    return list.text.includes(traceId);
  }

  #read(traceId: string): Promise<{ ok: boolean; text: string }> {
    return this.#fetch('GET', `/api/projects/${this.#project.id}/executions/${traceId}`);
  }

  async #expectCreated(path: string, body: unknown): Promise<void> {
    const answer = await this.#fetch('POST', path, body);
    if (!answer.ok) throw new Error(`${path}: ${answer.text}`);
  }

  async #fetch(method: string, path: string, body?: unknown): Promise<{ ok: boolean; text: string }> {
    try {
      const response = await fetch(this.#stack.apiUrl + path, {
        method,
        headers: { 'X-API-Key': this.#project.apiKey, 'Content-Type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(readableMsMax),
      });
      const text = await response.text();
      return { ok: response.ok, text: response.ok ? text : `${response.status} ${text.slice(0, 300)}` };
    } catch (error) {
      return { ok: false, text: `no answer: ${error instanceof Error ? error.message : 'unknown'}` };
    }
  }
}
