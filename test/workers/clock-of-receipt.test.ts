import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { startOwnApi } from '../support/api-process.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { beginRequest } from '../support/slow-senders.ts';
import { aSpan } from '../support/spans.ts';
import { contentTypes, getExecution, sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

const clock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));

let api: TestApi;
let project: ProjectOfTest;
beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

describe('a span that is sent to two API processes whose hosts have different clocks', () => {
  test.each([
    ['10 minutes ahead', 600_000],
    ['10 minutes behind', -600_000],
  ])('one is %s: what came last counts, whichever took it, and its health says so', async (_circumstance, shiftMs) => {
    const other = await startOwnApi(api.config, { preload: [clock], env: { CLOCK_SHIFT_MS: String(shiftMs) } });
    try {
      const span = aSpan();
      const targets = [{ ...api, url: other.url }, api, { ...api, url: other.url }, api];
      for (const [index, target] of targets.entries()) {
        const name = `version ${index}`;
        await sendSpans(target, project.key, [{ ...span, name }]);
        await until(`${name} counts`, 20_000, async () => {
          const { status, body } = await getExecution(api, project, span.traceId);
          return status === 200 && JSON.stringify(body).includes(`"${name}"`);
        });
      }
      const health = await (await fetch(`${other.url}/api/health`)).text();
      expect(JSON.parse(health)).toMatchObject({
        status: 'degraded',
        checks: { queue: { reason: expect.stringMatching(/clock of this host is -?600 s ahead/) } },
      });
    } finally {
      await other.stop();
    }
  });
});

describe('a span that is sent twice', () => {
  test('in a body that began first and was whole last, and in another one meanwhile: that of the slow body counts', async () => {
    const span = aSpan();
    // Each body has a span of its own as well: once that is there, so is what the body has of the other.
    const [ofSlow, ofQuick] = [aSpan(), aSpan()];
    const slow = Buffer.from(encodeSpans('protobuf', [{ ...span, name: 'of the slow body' }, ofSlow]));
    const half = Math.floor(slow.length / 2);
    // The key is known by now, so that the slow body is being received when the quick one comes.
    expect((await getExecution(api, project, span.traceId)).status).toBe(404);
    const { socket, answer } = await beginRequest(api.url, {
      ...{ path: '/api/v1/traces', key: project.key, type: contentTypes.protobuf },
      ...{ bytes: slow.length, first: slow.subarray(0, half) },
    });
    expect((await getExecution(api, project, span.traceId)).status).toBe(404);
    await sendSpans(api, project.key, [{ ...span, name: 'of the quick body' }, ofQuick]);
    socket.write(slow.subarray(half));
    for (const { traceId } of [ofSlow, ofQuick]) await untilStored(api, project, traceId);
    const { body } = await getExecution(api, project, span.traceId);
    expect(body.spans.map(({ span_name }) => span_name)).toEqual(['of the slow body']);
    socket.destroy();
    expect((await answer).text).toMatch(/^HTTP\/1\.1 200 /);
  });
});
