import { expect, test } from 'vitest';
import { recordTexts, requireSmall } from '../../../src/domains/executions/read-logs.ts';
import { ownerReader } from '../../../src/domains/executions/span-parts.schema.ts';
import type { ShownRecord } from '../../../src/domains/log-records/reads.ts';
import { watchLoop } from '../../support/loop-delay.ts';

const recordOf = (recordId: string, values: readonly unknown[]) =>
  ({
    ...{
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      recordId,
      eventName: '',
      severityNumber: 9,
      severityText: '',
    },
    ...{ timeUnixNano: 0n, observedUnixNano: 0n, droppedAttributesCount: 0, receivedAtMs: 1_000 },
    body: JSON.stringify({ kvlistValue: { values } }),
    ...{ attributes: '[]', scope: '{}' },
  }) as ShownRecord;

test('the records of each span are a list in their order', async () => {
  const value = { key: 'n', value: { intValue: '7' } };
  const found = new Map([
    ['first', [recordOf('1', [value]), recordOf('2', [])]],
    ['second', []],
  ]);
  const texts = await recordTexts(found, ownerReader());
  expect([...texts.keys()]).toEqual(['first', 'second']);
  expect(JSON.parse(texts.get('first') ?? '')).toMatchObject([{ body: { n: 7 } }, { body: {} }]);
  expect(texts.get('second')).toBe('[]');
});

test('records of very many values are converted while other work runs', async () => {
  // Four times as much as one read may have on the main thread, to be clear of noise.
  const values = Array.from({ length: 1_500 }, (_, index) => ({ key: `k${index}`, value: { kvlistValue: {} } }));
  const records = Array.from({ length: 300 }, (_, index) => recordOf(`${index}`, values));
  const found = new Map([['span', records]]);
  expect(JSON.stringify(values).length * records.length).toBeGreaterThan(16 * 1024 * 1024);
  await recordTexts(new Map([['span', records.slice(0, 2)]]), ownerReader());
  const loop = watchLoop();
  expect((await recordTexts(found, ownerReader())).get('span')).toContain('"k1499":{}');
  expect(loop.stop()).toBeLessThan(100);
});

test('a record that alone takes long is not converted on the main thread', () => {
  const small = recordOf('1', [{ key: 'a', value: { stringValue: 'x'.repeat(900_000) } }]);
  const large = recordOf('2', [{ key: 'a', value: { stringValue: 'x'.repeat(1_000_000) } }]);
  const manyValues = { ...small, body: `{"arrayValue":{"values":[${Array(70_000).fill('{}').join()}]}}` };
  const longName = { ...small, eventName: 'x'.repeat(100_000) };
  expect(() => requireSmall(new Map([['span', [small, small]]]))).not.toThrow();
  expect(() => requireSmall(new Map([['span', [small, large]]]))).toThrow(
    expect.objectContaining({ code: 'result_too_large' }),
  );
  expect(() => requireSmall(new Map([['span', [longName]]]))).toThrow();
  expect(() => requireSmall(new Map([['span', [manyValues]]]))).toThrow();
});
