import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { startOwnApi } from '../support/api-process.ts';
import { aSpan } from '../support/spans.ts';
import { getExecution, sendSpans } from '../support/traces.ts';
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
