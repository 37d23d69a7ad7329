import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { renderBody } from '../../../src/domains/rendering/render.schema.ts';

const check = (message: unknown) =>
  renderBody.safeParse({ placeholders: { history: [message] } }, { reportInput: true });

const part = z.looseObject({ type: z.string() });
const message = z.looseObject({
  role: z.string().min(1).max(100),
  content: z.union([z.string(), z.array(part), z.null()]).optional(),
});

const anyRole = fc.oneof(fc.string(), fc.string({ minLength: 99, maxLength: 102 }), fc.jsonValue());
const anyPart = fc.oneof(
  fc.record({ type: fc.oneof(fc.string(), fc.jsonValue()) }, { requiredKeys: [] }),
  fc.jsonValue(),
);
const anyContent = fc.oneof(fc.string(), fc.array(anyPart, { maxLength: 3 }), fc.jsonValue());
const anyMessage = fc.oneof(
  fc.record({ role: anyRole, content: anyContent, name: fc.string() }, { requiredKeys: [] }),
  fc.jsonValue(),
);

test('a message for a placeholder is accepted exactly when it has the form of the contract', () => {
  fc.assert(
    fc.property(anyMessage, (value) => {
      expect(check(value).success).toBe(message.safeParse(value).success);
    }),
  );
});

test('a list with too many messages is refused for its length alone, before its elements are looked at', () => {
  const history = Array.from({ length: 10_001 }, () => ({ role: 7 }));
  expect(renderBody.safeParse({ placeholders: { history } }).error?.issues).toMatchObject([
    { path: ['placeholders', 'history'], message: 'must have at most 10000 elements' },
  ]);
});

test('only the first faulty message of a list is reported', () => {
  const history = [{ role: 'user' }, { role: 'user', content: [{ kind: 'text' }] }, {}, {}];
  const paths = renderBody.safeParse({ placeholders: { history } }).error?.issues.map(({ path }) => path[2]);
  expect(new Set(paths)).toEqual(new Set([1]));
});
