import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { postSignal } from '../../support/logs.ts';
import { contentTypes, decodeResponse, decodeStatus } from '../../support/traces.ts';

const encodings = ['protobuf', 'json'] as const;

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi({ otlpBodyBytesMax: 4_096 });
  project = await newProject(api);
});
afterAll(() => api.close());

describe('200', () => {
  test.each(encodings)(
    'metrics in %s are accepted unread, and a key is told once that they are not kept',
    async (encoding) => {
      const { key } = await newKey(api, project.id, {});
      const headers = { 'Content-Type': contentTypes[encoding] };
      const answers = [];
      for (let sent = 0; sent < 3; sent++)
        answers.push(await postSignal(api, 'metrics', key, Buffer.alloc(4_000), headers));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const [first, ...others] = answers.map(({ bytes }) => decodeResponse(encoding, bytes));
      expect(first).toMatchObject({
        partialSuccess: { errorMessage: expect.stringMatching(/not kept.*OTEL_METRICS_EXPORTER=none/) },
      });
      expect(others).toEqual([{}, {}]);
    },
  );

  test('they are accepted while there is no queue', async () => {
    const queueless = await startApi({ apiKeyPepper: api.config.apiKeyPepper, redisUrl: 'redis://127.0.0.1:1' });
    try {
      const { key } = await newKey(api, project.id, {});
      expect((await postSignal(queueless, 'metrics', key, '{}')).status).toBe(200);
    } finally {
      await queueless.close();
    }
  });

  test('their requests and bytes are counted', async () => {
    const count = async () => {
      const { text } = await api.call('getMetrics', { adminKey: api.config.adminApiKey });
      const lines = text.split('\n').filter((line) => line.startsWith('otlp_metrics_accepted_total{'));
      return ['requests', 'bytes'].map((unit) =>
        Number(
          lines
            .find((line) => line.includes(unit))
            ?.split(' ')
            .at(-1),
        ),
      );
    };
    const before = await count();
    await postSignal(api, 'metrics', project.key, '{"resourceMetrics":[]}');
    const after = await count();
    expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([1, 22]);
  });
});

describe('401', () => {
  test('without a key', async () => {
    expect((await postSignal(api, 'metrics', 'no key', '{}')).status).toBe(401);
  });
});

describe('403', () => {
  test('with a key that may not send spans', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['prompts:read'] });
    expect((await postSignal(api, 'metrics', key, '{}')).status).toBe(403);
  });
});

describe('413', () => {
  test.each(encodings)('a body over the limit, with a Status in %s', async (encoding) => {
    const headers = { 'Content-Type': contentTypes[encoding] };
    const answer = await postSignal(api, 'metrics', project.key, Buffer.alloc(5_000), headers);
    expect([answer.status, decodeStatus(encoding, answer.bytes).code]).toEqual([413, 8]);
  });
});

describe('415', () => {
  test.each([
    ['a media type that is no OTLP', { 'Content-Type': 'text/plain' }],
    ['a coding that is not offered', { 'Content-Type': 'application/json', 'Content-Encoding': 'br' }],
  ])('%s', async (_case, headers) => {
    expect((await postSignal(api, 'metrics', project.key, '{}', headers)).status).toBe(415);
  });
});
