import { afterAll, describe, expect, test, vi } from 'vitest';
import { checkInputSchema, TemplateThreads, validateVariables } from '../../../src/domains/templates/index.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const needsA = { type: 'object', required: ['a'] };
const asynchronous = { ...needsA, $async: true };

describe('an input schema with `$async`', () => {
  test.each<[string, object]>([
    ['at its root', asynchronous],
    ['at its root, as a text', { ...needsA, $async: 'yes' }],
    ['at its root, to which it refers', { ...asynchronous, properties: { b: { $ref: '#' } } }],
    ['in a property', { properties: { a: asynchronous } }],
    ['in a list of schemas', { allOf: [asynchronous] }],
    ['behind a reference', { $ref: '#/$defs/x', $defs: { x: asynchronous } }],
    ['behind an anchor', { $ref: '#x', $defs: { x: { ...asynchronous, $anchor: 'x' } } }],
    ['behind an id', { $ref: 'http://a/x', $defs: { x: { ...asynchronous, $id: 'http://a/x' } } }],
    ['behind a dynamic anchor', { $dynamicRef: '#x', $defs: { x: { ...asynchronous, $dynamicAnchor: 'x' } } }],
    ['in a default to which it refers', { $ref: '#/default', default: asynchronous }],
  ])('%s is refused', async (_where, schema) => {
    await expect(checkInputSchema(threads, schema)).rejects.toMatchObject({ code: 'invalid_input_schema' });
  });

  test.each<[string, object]>([
    ['false', { ...needsA, $async: false }],
    ['as the name of a property', { ...needsA, properties: { $async: { type: 'string' } } }],
    ['in what nothing refers to', { ...needsA, $defs: { x: asynchronous } }],
  ])('%s is accepted, and variables are checked', async (_where, schema) => {
    await checkInputSchema(threads, schema);
    await expect(validateVariables(threads, schema, {})).rejects.toMatchObject({ code: 'invalid_variables' });
  });

  test('at the root of a stored version checks variables like one without', async () => {
    const stored = { ...asynchronous, properties: { a: { type: 'number' }, b: { default: 1 } } };
    await expect(validateVariables(threads, stored, { b: 2 })).rejects.toMatchObject({
      code: 'invalid_variables',
      errors: [{ path: 'variables.a', code: 'required' }],
    });
    await expect(validateVariables(threads, stored, { a: 1 })).resolves.toEqual({
      variables: { a: 1, b: 1 },
      defaulted: ['b'],
    });
  });
});
