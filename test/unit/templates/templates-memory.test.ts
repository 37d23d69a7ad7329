import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { checkVariables } from '../../../src/domains/templates/schema/check-variables.ts';
import type { ThreadWork, WorkName } from '../../../src/domains/templates/threads/tasks.ts';
import { runCall } from '../../../src/domains/templates/threads/template-thread.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function usedBytes(): number {
  for (let round = 0; round < 4; round++) collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Returns how many MiB are used after this work and were not before. */
async function retainedMb(work: () => unknown): Promise<number> {
  const before = usedBytes();
  await work();
  return (usedBytes() - before) / (1024 * 1024);
}

/** Does what a thread does for one call. */
const call = <Name extends WorkName>(name: Name, task: ThreadWork[Name]['task']) =>
  runCall({ name, task, begun: new Int32Array(1) });

const workspaceId = 'wsp_test';
const fieldsOf = (index: number) =>
  Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${at}_${index}`, {}]));
const ofArguments = `{{>p${Array.from({ length: 32 }, (_, at) => ` b${at}=a`).join('')}}}`.repeat(500);
const rendered = { variables: {}, onMissing: 'empty' } as const;
const renderOf = (format: 'mustache' | 'liquid', source: string) =>
  call('render', { ...rendered, parts: [], templates: [{ format, source }] });

test.each<[string, number, number, (index: number) => unknown]>([
  [
    'input schemas',
    60,
    16,
    (index) => call('validate', { workspaceId, schema: { properties: fieldsOf(index) }, variables: {} }),
  ],
  [
    'input schemas of drafts',
    60,
    2,
    (index) => call('checkSchema', { schema: { properties: fieldsOf(1_000 + index) } }),
  ],
  ['Liquid templates', 30, 16, (index) => call('parse', { sources: [`${index}{{a${'.b'.repeat(20_000)}}}`] })],
  ['Mustache templates', 15, 8, (index) => renderOf('mustache', `${index}${ofArguments}`)],
])('large %s, %d different ones, take at most %d MiB of a thread', async (_what, count, mbMax, run) => {
  await run(-1);
  const mb = await retainedMb(async () => {
    for (let index = 0; index < count; index++) await run(index);
  });
  expect(mb).toBeLessThan(mbMax);
});

const again = { $ref: '#/$defs/list' };
const strings = Array.from({ length: 10 }, () => ({ type: 'string' }));
const list = { items: { allOf: [again, ...strings] } };
const ofLists = { $defs: { list }, anyOf: [{ properties: { items: again } }, {}] };
const ofPatterns = { patternProperties: { '^k': true } };
const numbers = () => ({ items: Array.from({ length: 10_000 }, (_, index) => index) });
const keys = () => Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, index]));

test.each<[string, object, () => Record<string, unknown>]>([
  ['faults', ofLists, numbers],
  ['properties', ofPatterns, keys],
])('the %s that a check finds are not kept with the validator', async (_what, schema, variables) => {
  checkVariables(workspaceId, schema, {});
  const mb = await retainedMb(() => {
    checkVariables(workspaceId, schema, variables());
    // V8 keeps the last object that was copied.
    checkVariables(workspaceId, {}, {});
  });
  expect(mb).toBeLessThan(2);
});

test('a Liquid template that is too large to be cached is compiled once for a render', async () => {
  const source = `{% comment %}${'{{a}}'.repeat(16_000)}{% endcomment %}1`;
  const parts: ThreadWork['render']['task']['parts'] = [['p', { format: 'liquid', source }]];
  const templates = [{ format: 'liquid', source: '{% render "p" %}'.repeat(100) }] as const;
  const outcome = await call('render', { ...rendered, parts, templates: [...templates] });
  expect(outcome).toMatchObject({ result: { texts: ['1'.repeat(100)] } });
});
