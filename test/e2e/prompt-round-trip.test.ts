import { expect, test } from 'vitest';
import { usePromptApi } from '../support/prompt-api.ts';
import { render } from '../support/rendering.ts';
import { aModelCall, newTraceId } from '../support/spans.ts';
import { listExecutions, sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

const it = usePromptApi();

/** Renders, and sends a call of a model with what the render says belongs on its span. */
async function called(prompt: string, body: object): Promise<{ traceId: string; version: number }> {
  const { otel_attributes, version } = await render(it, prompt, { variables: { question: 'Why?' }, ...body });
  const traceId = newTraceId();
  await sendSpans(it.api, it.project.key, [aModelCall(12, 5, { traceId, attributes: otel_attributes })]);
  return { traceId, version };
}

async function tracesOf(query: Record<string, string | number>): Promise<string[]> {
  const { body } = await listExecutions(it.api, it.project, { ...query, limit: 100 });
  return body.data.map(({ trace_id }) => trace_id);
}

test('a call with the attributes of its render is among the executions of the prompt, with the version that was rendered', async () => {
  const { slug: part } = await it.newPart({ template: 'Be brief.' });
  const { id, slug } = await it.newPrompt({ template: `{{> ${part}}} {{question}}`, labels: ['production'] });
  await it.ok('updatePrompt', id, { body: { template: 'Now: {{question}}' } });
  const production = await called(slug, { label: 'production' });
  const latest = await called(id, {});
  expect([production.version, latest.version]).toEqual([1, 2]);
  for (const { traceId, version } of [production, latest]) {
    await untilStored(it.api, it.project, traceId);
    const listed = await until(`${traceId} among the prompt's executions`, 15_000, async () => {
      const { body } = await listExecutions(it.api, it.project, { prompt_id: id, limit: 100 });
      return body.data.find(({ trace_id }) => trace_id === traceId);
    });
    expect(listed.prompts).toEqual([{ prompt_id: id, prompt_version: version, name: slug, calls: 1 }]);
    expect(await tracesOf({ prompt_id: id, prompt_version: version })).toEqual([traceId]);
  }
  const { id: other } = await it.newPrompt();
  expect(await tracesOf({ prompt_id: other })).toEqual([]);
});
