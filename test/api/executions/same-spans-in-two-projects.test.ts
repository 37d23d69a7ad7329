import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { spanQuota } from '../../support/limits.ts';
import { encodeSpans } from '../../support/otlp-encode.ts';
import { aModelCall, newTraceId } from '../../support/spans.ts';
import { getHierarchy, getTimeline, listExecutions, postTraces, untilStored } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

test('the same bytes sent to two projects are stored, listed, shown and metered in each', async () => {
  const projects = [await newProject(api), await newProject(api)];
  const traceId = newTraceId();
  const body = Buffer.from(encodeSpans('protobuf', [aModelCall(3, 1, { traceId })]));
  for (const { key } of projects) expect((await postTraces(api, key, body)).status).toBe(200);
  for (const project of projects) await expectItsOwn(project, traceId);
});

test('what one project sends of a trace never shows in another that has the trace too', async () => {
  const [first, second] = [await newProject(api), await newProject(api)];
  const traceId = newTraceId();
  const send = (project: ProjectOfTest, name: string) =>
    postTraces(api, project.key, Buffer.from(encodeSpans('protobuf', [aModelCall(3, 1, { traceId, name })])));
  await send(first, 'of the first');
  await send(second, 'of the second');
  for (const project of [first, second]) await expectItsOwn(project, traceId);
  const texts = await Promise.all(
    [getHierarchy, getTimeline].map(async (read) => (await read(api, first, traceId)).text),
  );
  for (const text of texts) {
    expect(text).toContain('of the first');
    expect(text).not.toContain('of the second');
  }
});

async function expectItsOwn(project: ProjectOfTest, traceId: string): Promise<void> {
  await untilStored(api, project, traceId, 1);
  // Lists read summaries, which come a little later.
  const data = await until('it is listed', 10_000, async () => {
    const { body } = await listExecutions(api, project);
    return body.data.length > 0 && body.data;
  });
  expect(data.map((execution) => [execution.trace_id, execution.span_count])).toEqual([[traceId, 1]]);
  expect((await getHierarchy(api, project, traceId)).status).toBe(200);
  expect((await getTimeline(api, project, traceId)).status).toBe(200);
  expect((await spanQuota(api, project)).used).toBe(1);
}
