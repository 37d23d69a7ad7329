import { expect, test } from 'vitest';
import { resourceFromJson } from '../../../src/otlp/origin-json.ts';

const resource = (name: string) =>
  JSON.stringify({ attributes: [{ key: 'service.name', value: { stringValue: name } }] });

test('equal resources are one object, until larger ones of more than 4 MiB were read', () => {
  const first = resourceFromJson(resource('shared'));
  expect(resourceFromJson(resource('shared'))).toBe(first);
  for (let number = 0; number < 5; number++) resourceFromJson(resource(`${number}${'x'.repeat(1024 * 1024)}`));
  expect(resourceFromJson(resource('shared'))).not.toBe(first);
  expect(resourceFromJson(resource('shared'))).toEqual(first);
});
