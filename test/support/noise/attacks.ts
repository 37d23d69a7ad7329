import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { mintApiKey } from '../../../src/domains/auth/index.ts';
import { type AttackSpan, manyValues, newTraceId, tracesBody, tracesHeaders } from './attack-bodies.ts';
import { call, inParallel, projectPath, type Target } from './target.ts';

export interface Attack {
  /** Runs before the measurement. Creates the data that the attack needs. */
  prepare?: (target: Target) => Promise<void>;
  /** Runs until the signal is aborted. */
  run: (target: Target, signal: AbortSignal) => Promise<void>;
}

/**
 * The attacks of one workspace on the others, by name. To extend the suite, add a row. Every attack
 * has the same criterion.
 */
export const attacks = {
  'nothing, but keeps the processors busy that others leave': {
    async run(_target, signal) {
      for (let i = 0; i < 2; i++) new Worker('for (;;);', { eval: true });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  },
  'a flood of small traces': {
    run: (target, signal) => {
      return inParallel(24, signal, () => sendTraces(target, [{ traceId: newTraceId() }]));
    },
  },
  'bodies of ten thousand traces': {
    async run(target, signal) {
      await inParallel(2, signal, () =>
        sendTraces(
          target,
          Array.from({ length: 10_000 }, () => ({ traceId: newTraceId() })),
        ),
      );
    },
  },
  'small bodies that inflate to JSON of millions of values': {
    async run(target, signal) {
      const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': manyValues() };
      await inParallel(2, signal, () => {
        const traceId = newTraceId();
        return sendTraces(
          target,
          Array.from({ length: 50 }, () => ({ traceId, attributes })),
        );
      });
    },
  },
  'one span after the other for a trace of thirty thousand': {
    async prepare(target) {
      for (let part = 0; part < 3; part++) {
        await sendTraces(
          target,
          Array.from({ length: 10_000 }, () => ({ traceId: largeTraceId })),
        );
      }
    },
    run: (target, signal) => inParallel(2, signal, () => sendTraces(target, [{ traceId: largeTraceId }])),
  },
  'the same spans again and again': {
    async run(target, signal) {
      const spans = Array.from({ length: 5_000 }, () => ({
        traceId: largeTraceId,
        spanId: randomBytes(8).toString('hex'),
      }));
      await inParallel(2, signal, (turn) =>
        sendTraces(
          target,
          spans.map((span) => ({ ...span, attributes: { turn: String(turn) } })),
        ),
      );
    },
  },
  'twenty small traces again and again, changed': {
    async run(target, signal) {
      const spans = Array.from({ length: 20 }, () => ({
        traceId: newTraceId(),
        spanId: randomBytes(8).toString('hex'),
      }));
      await inParallel(32, signal, (turn) =>
        sendTraces(
          target,
          spans.map((span) => ({ ...span, attributes: { turn: String(turn) } })),
        ),
      );
    },
  },
  'log records one after the other for spans with two thousand each': {
    async prepare(target) {
      await sendTraces(target, loggedSpans);
      for (const span of loggedSpans) await sendLogs(target, [span], 2_000);
    },
    run: (target, signal) => inParallel(8, signal, () => sendLogs(target, loggedSpans, 1)),
  },
  'small traces with a log record each': {
    run: (target, signal) =>
      inParallel(24, signal, async () => {
        const span = { traceId: newTraceId(), spanId: randomBytes(8).toString('hex') };
        await sendTraces(target, [span]);
        await sendLogs(target, [span], 1);
      }),
  },
  'log records of ever new traces': {
    async run(target, signal) {
      await inParallel(4, signal, () =>
        sendLogs(
          target,
          Array.from({ length: 2_000 }, () => ({ traceId: newTraceId(), spanId: randomBytes(8).toString('hex') })),
          1,
        ),
      );
    },
  },
  'spans that come again and again, between ever more log records': {
    run: (target, signal) =>
      inParallel(12, signal, async () => {
        const span = { traceId: newTraceId(), spanId: randomBytes(8).toString('hex') };
        for (let turn = 0; turn < 6 && !signal.aborted; turn++) {
          const attributes = { turn: String(turn), ...(turn === 4 && { filler: 'x'.repeat(700_000) }) };
          await sendTraces(target, [{ ...span, attributes }]);
          await sendLogs(target, [span], 2);
        }
      }),
  },
  'executions that last until the end of time': {
    run: (target, signal) =>
      inParallel(4, signal, () =>
        post(target, '/executions', { name: 'x', started_at: '2554-07-21T23:00:00Z', duration_ms: 31_622_400_000 }),
      ),
  },
  'connections that send one byte of a body': {
    run: (target, signal) => holdConnections(target, signal, 200, Buffer.from('x')),
  },
  'bodies that come in chunks of one byte': {
    run: (target, signal) => inParallel(14, signal, () => sendBytesInChunks(target, signal)),
  },
  'connections that stop after fifteen mebibytes': {
    run: (target, signal) => holdConnections(target, signal, 40, Buffer.alloc(15 * 1024 * 1024, 0x20)),
  },
  'more connections than there may be, which send nothing': {
    run: (target, signal) => holdSockets(target, signal, { count: 8_600, sent: '' }),
  },
  'two thousand requests without credentials at a time on a connection': {
    run: (target, signal) => {
      const sent = 'GET /api/health?probe=live HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000);
      return holdSockets(target, signal, { count: 100, sent, reads: true });
    },
  },
  'clients that leave within a body that is too large': {
    run: (target, signal) =>
      inParallel(8, signal, async () => {
        await leaveWithinBody(target);
      }),
  },
  'bodies that inflate to the limit': {
    async run(target, signal) {
      const bomb = gzipSync(Buffer.alloc(63 * 1024 * 1024, 0x20));
      await inParallel(8, signal, () => sendBody(target, bomb));
    },
  },
  'lists with hundreds of prompt ids': {
    async run(target, signal) {
      const values = Array.from({ length: 80 }, () => `prm_${randomBytes(8).toString('hex')}`);
      const filter = JSON.stringify({ or: [0, 1, 2].map(() => ({ field: 'prompt_id', op: 'in', value: values })) });
      await inParallel(14, signal, () => list(target, `filter=${encodeURIComponent(filter)}`));
    },
  },
  'lists with as many conditions on attributes as are allowed': {
    async prepare(target) {
      await sendManyTraces(target);
    },
    async run(target, signal) {
      const query = Array.from({ length: 10 }, (_, index) => `attr.k${index}=v${index}`).join('&');
      await inParallel(6, signal, () => list(target, query));
    },
  },
  'reads of an execution of a hundred megabytes': {
    async prepare(target) {
      const attributes = { 'promptlane.input': randomBytes(8_000).toString('hex') };
      for (let part = 0; part < 6; part++) {
        await sendTraces(
          target,
          Array.from({ length: 1_000 }, () => ({ traceId: largeTraceId, attributes })),
        );
      }
    },
    run: (target, signal) =>
      inParallel(3, signal, () => call(target, 'GET', projectPath(target, `/executions/${largeTraceId}`), { signal })),
  },
  'templates that run into their limit': {
    async prepare(target) {
      await post(target, '/prompts', { name: 'endless', type: 'text', template_format: 'liquid', template: endless });
    },
    run: (target, signal) => inParallel(70, signal, () => post(target, '/prompts/endless/render', {}, signal)),
  },
  'drafts as large as they may be': {
    async run(target, signal) {
      const template = '{{a}} {{#b}}{{c}}{{/b}} '.repeat(4_000);
      await inParallel(8, signal, () => post(target, '/prompts/validate', { type: 'text', template }, signal));
    },
  },
  'exports of two hundred prompts of a hundred kilobytes': {
    async prepare(target) {
      const template = 'lorem ipsum '.repeat(8_500);
      for (let part = 0; part < 200; part++)
        await post(target, '/prompts', { name: `p ${part}`, type: 'text', template });
    },
    run: (target, signal) =>
      inParallel(6, signal, () => call(target, 'GET', projectPath(target, '/prompts/export'), { signal })),
  },
  'comparisons of prompts that have nothing in common': {
    async prepare(target) {
      const lines = (word: string) => Array.from({ length: 9_000 }, (_, index) => `${word} ${index}`).join('\n');
      await post(target, '/prompts', { name: 'lines', type: 'text', template: lines('old') });
      const body = JSON.stringify({ template: lines('new') });
      await call(target, 'PUT', projectPath(target, '/prompts/lines'), { body });
    },
    run: (target, signal) =>
      inParallel(8, signal, () =>
        call(target, 'GET', projectPath(target, '/prompts/lines/diff?from=1&to=2'), { signal }),
      ),
  },
  'imports of nothing but blank lines': {
    async run(target, signal) {
      const body = gzipSync(Buffer.alloc(32 * 1024 * 1024, 0x0a));
      const headers = { 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'gzip' };
      const path = projectPath(target, '/prompts/import?dry_run=true');
      await inParallel(4, signal, () => call(target, 'POST', path, { body, headers, signal }));
    },
  },
  'executions of eight mebibytes of empty lists': {
    async run(target, signal) {
      const input = `[${'[],'.repeat(2_600_000)}[]]`;
      const body = `{"name":"x","input":${input}}`;
      await inParallel(4, signal, () => call(target, 'POST', projectPath(target, '/executions'), { body, signal }));
    },
  },
  'renders of a prompt that uses a part six hundred times with thirty arguments': {
    async prepare(target) {
      await post(target, '/parts', {
        name: 'used',
        slug: 'used',
        template_format: 'mustache',
        template: '{{a0}}{{a31}}x',
      });
      const names = Array.from({ length: 32 }, (_, at) => `a${at}=v.b${at}`).join(' ');
      const template = `{{> used ${names}}}`.repeat(620);
      await post(target, '/prompts', { name: 'arguments', type: 'text', template_format: 'mustache', template });
    },
    async run(target, signal) {
      const v = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`b${at}`, { x: 'y'.repeat(500) }]));
      await inParallel(30, signal, () => post(target, '/prompts/arguments/render', { variables: { v } }, signal));
    },
  },
  'executions of ten thousand spans': {
    async run(target, signal) {
      const span = { name: 'step', kind: 'llm', model: 'gpt-4o', usage: { input_tokens: 1, output_tokens: 1 } };
      const body = JSON.stringify({ name: 'x', spans: Array.from({ length: 9_999 }, () => span) });
      await inParallel(2, signal, () => call(target, 'POST', projectPath(target, '/executions'), { body, signal }));
    },
  },
  'executions that are one text of escapes': {
    async run(target, signal) {
      const body = `{"name":"x","input":"${'\\\\'.repeat(2_500_000)}${'漢'.repeat(900_000)}"}`;
      await inParallel(4, signal, () => call(target, 'POST', projectPath(target, '/executions'), { body, signal }));
    },
  },
  'executions that it waits for': {
    async run(target, signal) {
      const headers = { Prefer: 'wait=30' };
      const body = JSON.stringify({ name: 'x', input: 'lorem ipsum' });
      const path = projectPath(target, '/executions');
      await inParallel(200, signal, () => call(target, 'POST', path, { body, headers, signal }));
    },
  },
  'reads of the tree and the timeline of twenty thousand spans': {
    async prepare(target) {
      await sendTraces(target, chainOf(10_000));
      await sendTraces(target, chainOf(10_000));
    },
    run: (target, signal) =>
      inParallel(4, signal, (turn) => {
        const view = turn % 2 === 0 ? 'hierarchy' : 'timeline';
        return call(target, 'GET', projectPath(target, `/executions/${largeTraceId}/${view}`), { signal });
      }),
  },
  'renders with a mebibyte of variables': {
    async prepare(target) {
      const template = '{{#list}}{{text}}{{/list}}{{long}}';
      await post(target, '/prompts', { name: 'long', type: 'text', template });
    },
    async run(target, signal) {
      const variables = { long: 'lorem ipsum '.repeat(80_000), list: [] };
      await inParallel(8, signal, () => post(target, '/prompts/long/render', { variables }, signal));
    },
  },
  'renders of a million control characters': {
    async prepare(target) {
      await created(post(target, '/parts', { name: 'control', slug: 'control', template: '\u0001'.repeat(170_000) }));
      const template = '{{> control}}'.repeat(6);
      await created(post(target, '/prompts', { name: 'control', type: 'text', template }));
    },
    run: (target, signal) => inParallel(24, signal, () => post(target, '/prompts/control/render', {}, signal)),
  },
  'renders of texts of symbols': {
    async prepare(target) {
      await created(post(target, '/prompts', { name: 'symbols', type: 'text', template: '{{a}}' }));
    },
    run: (target, signal) =>
      inParallel(6, signal, (turn) => {
        const variables = { a: turn + '€※'.repeat(8_000) };
        return post(target, '/prompts/symbols/render', { variables }, signal);
      }),
  },
  'renders of prompts with schemas as large as they may be': {
    async prepare(target) {
      for (const name of ['first', 'second']) {
        const required = Array.from({ length: 190 }, (_, index) => `${name}${index}`);
        const properties = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`p${index}`, { required }]));
        const input_schema = { properties };
        await created(post(target, '/prompts', { name, type: 'text', template: 'x', input_schema }));
      }
    },
    run: (target, signal) =>
      inParallel(12, signal, (turn) => {
        const path = `/prompts/${turn % 2 === 0 ? 'first' : 'second'}/render`;
        return post(target, path, { variables: { x: '1' } }, signal);
      }),
  },
  'variables that a pattern takes long to judge': {
    async prepare(target) {
      const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
      await post(target, '/prompts', { name: 'slow pattern', type: 'text', template: '{{a}}', input_schema: schema });
    },
    async run(target, signal) {
      const variables = { a: `${'a'.repeat(40)}!` };
      await inParallel(40, signal, () => post(target, '/prompts/slow-pattern/render', { variables }, signal));
    },
  },
  'variables and messages with very many faults': {
    async prepare(target) {
      await post(target, '/prompts', { name: 'faulty', type: 'text', template: 'x' });
    },
    async run(target, signal) {
      const below = Object.fromEntries(Array.from({ length: 1_900 }, (_, at) => [`a${at}`, at]));
      const input_schema = { additionalProperties: { additionalProperties: { type: 'string' } } };
      const draft = { type: 'text', template: 'x', input_schema, variables: { ['/'.repeat(900_000)]: below } };
      const faulty = { placeholders: { a: [{ role: 'user', content: Array(120_000).fill(0) }] } };
      await inParallel(12, signal, (turn) =>
        turn % 2 === 0
          ? post(target, '/prompts/validate', draft, signal)
          : post(target, '/prompts/faulty/render', faulty, signal),
      );
    },
  },
  'requests for the documentation': {
    run: (target, signal) =>
      inParallel(12, signal, (turn) =>
        call(target, 'GET', turn % 2 === 0 ? '/api/docs/page.js' : '/api/openapi.json', {
          // Each answer is 1.7 or 0.6 MB then.
          headers: { 'Accept-Encoding': 'identity' },
          signal,
        }),
      ),
  },
  'webhooks that nobody signed': {
    async run(target, signal) {
      const body = JSON.stringify({ data: 'x'.repeat(200_000) });
      await inParallel(16, signal, () => call(target, 'POST', '/api/webhooks/generic', { body, signal }));
    },
  },
  'answers that it never reads': {
    async prepare(target) {
      await sendManyTraces(target);
    },
    run: (target, signal) => neverRead(target, signal, 100),
  },
  'random keys that are well formed': {
    run: (target, signal) =>
      inParallel(16, signal, () =>
        call({ ...target, apiKey: mintApiKey('no pepper of this service').key }, 'GET', '/api/me/context', { signal }),
      ),
  },
  'as many writes and reads of prompts as fit': {
    run: (target, signal) =>
      inParallel(24, signal, async (turn) => {
        const name = `prompt ${turn} ${randomBytes(4).toString('hex')}`;
        await post(target, '/prompts', { name, type: 'text', template: 'Hello {{name}}' }, signal);
        await call(target, 'GET', projectPath(target, `/prompts?q=${turn}`), { signal });
      }),
  },
  'prompts that it creates with an Idempotency-Key each': {
    run: (target, signal) =>
      inParallel(24, signal, (turn) => {
        const name = `kept ${turn} ${randomBytes(4).toString('hex')}`;
        const body = JSON.stringify({ name, type: 'text', template: 'Hello {{name}}' });
        const headers = { 'Idempotency-Key': name };
        return call(target, 'POST', projectPath(target, '/prompts'), { body, headers, signal });
      }),
  },
  'lists by whether executions have feedback, while more comes': {
    async prepare(target) {
      await sendTraces(
        target,
        ratedTraceIds.map((traceId) => ({ traceId })),
      );
      for (let start = 0; start < ratedTraceIds.length; start += 20) {
        await Promise.all(ratedTraceIds.slice(start, start + 20).map((traceId) => created(rate(target, traceId))));
      }
    },
    run: (target, signal) =>
      inParallel(12, signal, (turn) =>
        turn % 4 === 0 ? rate(target, newTraceId()) : list(target, `has_feedback=${turn % 4 === 1}&limit=100`),
      ),
  },
  'stats, analytics and budgets of twenty thousand traces': {
    async prepare(target) {
      await created(post(target, '/prompts', { name: 'measured', type: 'text', template: 'Hello' }));
      await sendManyTraces(target, { 'gen_ai.operation.name': 'chat', 'gen_ai.prompt.name': 'measured' });
    },
    async run(target, signal) {
      const before = (hours: number) => new Date(Date.now() - hours * 60 * 60_000).toISOString();
      const minutes = `granularity=minute&from=${before(16)}`;
      const hours = `granularity=hour&tz=Australia/Lord_Howe&from=${before(960)}`;
      const paths = [minutes, hours].flatMap((query) => [`/stats?${query}`, `/prompts/measured/analytics?${query}`]);
      paths.push('/budget');
      await inParallel(12, signal, (turn) =>
        call(target, 'GET', projectPath(target, paths[turn % paths.length] ?? ''), { signal }),
      );
    },
  },
  'refused bodies of a hundred kilobytes on a hundred connections': {
    run: (target, signal) => {
      const message = { role: 'system', content: `{{#a}}{{> part x=y}}{{/a}} ${'x'.repeat(60)}` };
      const draft = { type: 'chat', messages: Array.from({ length: 900 }, () => message) };
      return inParallel(100, signal, () => post(target, '/prompts/validate', draft, signal));
    },
  },
  'pages of versions of two megabytes': {
    async prepare(target) {
      await created(post(target, '/prompts', { name: 'large-versions', type: 'text', template: 'x' }));
      for (let version = 0; version < 12; version++) {
        const body = JSON.stringify({ template: `${version}${' lorem'.repeat(30_000)}` });
        await call(target, 'PUT', projectPath(target, '/prompts/large-versions'), { body });
      }
    },
    run: (target, signal) =>
      inParallel(12, signal, () =>
        call(target, 'GET', projectPath(target, '/prompts/large-versions/versions?limit=100'), { signal }),
      ),
  },
  'feedback as large as it may be': {
    async run(target, signal) {
      const comment = 'lorem ipsum '.repeat(650);
      await inParallel(24, signal, () => {
        const body = JSON.stringify({ target_type: 'execution', trace_id: newTraceId(), rating: 'up', comment });
        return call(target, 'POST', '/api/feedback', { body, signal });
      });
    },
  },
  'events for webhooks that never answer': {
    async prepare(target) {
      const port = await listenSilently();
      for (let webhook = 0; webhook < 10; webhook++) {
        const url = `http://127.0.0.1:${port}/${webhook}`;
        await created(post(target, '/webhooks', { url, events: ['prompt.label_moved'] }));
      }
      await created(post(target, '/prompts', { name: 'events', type: 'text', template: 'Hello' }));
      const body = JSON.stringify({ template: 'Goodbye' });
      await call(target, 'PUT', projectPath(target, '/prompts/events'), { body });
    },
    run: (target, signal) =>
      inParallel(16, signal, (turn) => {
        const labels = 40;
        const body = JSON.stringify({ version: 1 + (Math.floor(turn / labels) % 2) });
        return call(target, 'PUT', projectPath(target, `/prompts/events/labels/label-${turn % labels}`), {
          body,
          signal,
        });
      }),
  },
  'metrics that take long to check and to compute': {
    async prepare(target) {
      for (let prompt = 0; prompt < metricPrompts; prompt++) {
        const body = { name: `scored ${prompt}`, type: 'text', template: '{{question}}', config: { model: 'echo' } };
        await created(post(target, '/prompts', body));
      }
    },
    run: (target, signal) =>
      inParallel(12, signal, async (turn) => {
        const checked = { dry_run: true, dataset: scoredRows, metrics: slowMetrics.checked };
        await post(target, '/prompts/scored-0/optimize', checked, signal);
        const run = { dataset: scoredRows, metrics: slowMetrics.computed, budget: { max_duration_s: 10 } };
        await post(target, `/prompts/scored-${turn % metricPrompts}/optimize`, run, signal);
      }),
  },
  'texts in which no word occurs twice': {
    async prepare() {
      for (let body = 0; body < 6; body++) uniqueWords.push(tracesBody(spansOfUniqueWords(body)));
    },
    run: (target, signal) =>
      inParallel(2, signal, (turn) => {
        const body = uniqueWords[turn % uniqueWords.length];
        return call(target, 'POST', '/api/v1/traces', { ...(body && { body }), headers: tracesHeaders });
      }),
  },
} as const satisfies Record<string, Attack>;

export type AttackName = keyof typeof attacks;

const uniqueWords: Buffer[] = [];

/** 48 spans with 110,000 words each. They are the most that a merge of ClickHouse has to index. */
function spansOfUniqueWords(body: number): AttackSpan[] {
  const traceId = newTraceId();
  return Array.from({ length: 48 }, (_, span) => {
    const first = (body * 48 + span) * 110_000;
    const words = Array.from({ length: 110_000 }, (_, word) => (2 ** 28 + first + word).toString(36));
    return { traceId, attributes: { 'input.value': words.join(' ') } };
  });
}

const largeTraceId = newTraceId();
const ratedTraceIds = Array.from({ length: 4_000 }, newTraceId);
const metricPrompts = 12;
const scoredRows = {
  source: 'inline',
  rows: Array.from({ length: 40 }, (_, index) => ({ inputs: { question: `Question ${index}` }, expected: 'yes' })),
};
/** The first ones are refused after their time. The other one takes long for each long output of the model. */
const slowMetrics = {
  checked: Array.from({ length: 10 }, (_, index) => ({
    type: 'regex',
    options: { pattern: `${'\\pL'.repeat(600)}${index}` },
  })),
  computed: [{ type: 'regex', options: { pattern: 'a[ab]{30}[cd]' } }],
};
const endless = '{% for i in (1..100000) %}{% for j in (1..100000) %}{{ i | plus: j }}{% endfor %}{% endfor %}';

const loggedSpans = Array.from({ length: 20 }, () => ({
  traceId: newTraceId(),
  spanId: randomBytes(8).toString('hex'),
}));
let logged = 0;

/** Sends new messages of each span. */
async function sendLogs(target: Target, spans: typeof loggedSpans, each: number): Promise<void> {
  const logRecords = spans.flatMap((ids) =>
    Array.from({ length: each }, () => ({
      ...ids,
      timeUnixNano: String(++logged),
      eventName: 'gen_ai.user.message',
      body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: `message ${logged}` } }] } },
    })),
  );
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  const headers = { 'Content-Type': 'application/json' };
  const status = await call(target, 'POST', '/api/v1/logs', { body, headers });
  if (status !== 200) await delay(50);
}

async function sendTraces(target: Target, spans: Parameters<typeof tracesBody>[0]): Promise<void> {
  await sendBody(target, tracesBody(spans));
}

/** A refused sender waits for a short time, like an exporter. */
async function sendBody(target: Target, body: Buffer): Promise<void> {
  const status = await call(target, 'POST', '/api/v1/traces', { body, headers: tracesHeaders });
  if (status !== 200) await delay(50);
}

async function sendManyTraces(target: Target, more: Record<string, string> = {}): Promise<void> {
  const keys = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`k${index}`, `v${index}`]));
  const attributes = { ...keys, ...more };
  for (let part = 0; part < 4; part++) {
    await sendTraces(
      target,
      Array.from({ length: 5_000 }, () => ({ traceId: newTraceId(), attributes })),
    );
  }
}

function post(target: Target, path: string, body: unknown, signal?: AbortSignal): Promise<number> {
  return call(target, 'POST', projectPath(target, path), { body: JSON.stringify(body), ...(signal && { signal }) });
}

/** Throws if the service did not create what the attack needs: it would then be no attack. */
async function created(answer: Promise<number>): Promise<void> {
  const status = await answer;
  if (status !== 201) throw new Error(`A preparation of an attack was answered with ${status}`);
}

function rate(target: Target, traceId: string): Promise<number> {
  const body = JSON.stringify({ target_type: 'execution', trace_id: traceId, rating: 'up' });
  return call(target, 'POST', '/api/feedback', { body });
}

function list(target: Target, query: string): Promise<number> {
  return call(target, 'GET', projectPath(target, `/executions?${query}`));
}

/** Listens on a free port, accepts connections and answers nothing. */
async function listenSilently(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Opens connections that announce a body, send its first bytes and then nothing. */
function holdConnections(target: Target, signal: AbortSignal, count: number, start: Buffer): Promise<void> {
  const head =
    `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nX-API-Key: ${target.apiKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${start.length + 1_000}\r\n\r\n`;
  return holdSockets(target, signal, { count, sent: Buffer.concat([Buffer.from(head), start]), reads: true });
}

/** Sends a body that never ends, each byte in a chunk of its own, as fast as it is read. */
async function sendBytesInChunks({ apiUrl, apiKey }: Target, signal: AbortSignal): Promise<void> {
  const outgoing = request(`${apiUrl}/api/v1/traces`, {
    method: 'POST',
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' },
    agent: false,
    signal,
  });
  outgoing.on('error', () => undefined);
  outgoing.on('response', () => outgoing.destroy());
  const closed = once(outgoing, 'close');
  outgoing.once('socket', (socket) => {
    const chunks = Buffer.from('1\r\na\r\n'.repeat(10_000));
    const send = () => {
      while (!socket.destroyed && socket.write(chunks));
    };
    outgoing.flushHeaders();
    socket.on('drain', send);
    send();
  });
  await closed;
}

/** Opens connections that send some bytes and then nothing. A closed connection is opened again. */
async function holdSockets(
  { apiUrl }: Target,
  signal: AbortSignal,
  { count, sent, reads = false }: { count: number; sent: string | Buffer; reads?: boolean },
): Promise<void> {
  const { hostname, port } = new URL(apiUrl);
  await inParallel(count, signal, async () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    if (reads) socket.resume();
    else socket.pause();
    socket.write(sent);
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
      signal.addEventListener('abort', () => socket.destroy(), { once: true });
    });
    await delay(20);
  });
}

function chainOf(length: number) {
  let parentSpanId: string | undefined;
  return Array.from({ length }, () => {
    const spanId = randomBytes(8).toString('hex');
    const span = { traceId: largeTraceId, spanId, ...(parentSpanId !== undefined && { parentSpanId }) };
    parentSpanId = spanId;
    return span;
  });
}

/** Opens connections that request lists one after the other and read nothing. */
function neverRead(target: Target, signal: AbortSignal, count: number): Promise<void> {
  const path = projectPath(target, '/executions?limit=100');
  const asked = `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${target.apiKey}\r\n\r\n`;
  return holdSockets(target, signal, { count, sent: asked.repeat(9) });
}

/** Sends a body that is too large, reads the refusal, and closes the connection before the end of the body. */
function leaveWithinBody(target: Target): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = request(`${target.apiUrl}/api/v1/traces`, {
      method: 'POST',
      headers: { 'X-API-Key': target.apiKey, 'Content-Type': 'application/json' },
    });
    const leave = () => outgoing.destroy();
    outgoing.on('error', () => undefined);
    outgoing.on('close', () => resolve());
    outgoing.on('response', leave);
    outgoing.write(Buffer.alloc(17 * 1024 * 1024, 0x20));
    outgoing.setTimeout(5_000, leave);
  });
}
