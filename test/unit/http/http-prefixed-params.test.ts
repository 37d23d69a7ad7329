import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../../src/http/endpoint.ts';
import { openApiDocument } from '../../../src/http/openapi/document.ts';
import { parseQueryString, prefixedParams, repeatedParam } from '../../../src/http/query.ts';
import { parseQuery } from '../../../src/http/validate.ts';
import { MalformedError } from '../../../src/lib/errors.ts';

const schema = z.strictObject({
  name: z.string().optional(),
  'attr.': prefixedParams(repeatedParam(z.string().max(5))).meta({ description: 'by key' }),
});

const parse = (search: string) => parseQuery(schema, parseQueryString(search));

function faultsOf(search: string) {
  try {
    parse(search);
  } catch (error) {
    if (error instanceof MalformedError) return (error.errors ?? []).map(({ path, code }) => ({ path, code }));
  }
  throw new Error('It was accepted');
}

describe('parameters by prefix', () => {
  test('come as a record by what follows the prefix, beside the others', () => {
    expect(parse('?name=n&attr.a=1&attr.user.id=u&attr.a=2')).toEqual({
      name: 'n',
      'attr.': { a: ['1', '2'], 'user.id': ['u'] },
    });
  });

  test('may be absent', () => {
    expect(parse('?name=n')).toEqual({ name: 'n' });
  });

  test.each([
    ['?attr.user.id=too-long', 'attr.user.id[0]', 'too_big'],
    ['?attr.k=too-long', 'attr.k[0]', 'too_big'],
    ['?attr=x', 'attr', 'unknown_parameter'],
    ['?attrs.k=x', 'attrs.k', 'unknown_parameter'],
  ])('%s is a fault at %s', (search, path, code) => {
    expect(faultsOf(search)).toContainEqual({ path: path.includes('attrs') ? '["attrs.k"]' : path, code });
  });

  test.each(['?attr.=x', '?attr.__proto__=x'])('%s is refused', (search) => {
    expect(() => parse(search)).toThrow(MalformedError);
  });

  test('stand in the document once, for all of them', async () => {
    const contract = endpoint({
      operationId: 'list',
      method: 'GET',
      path: '/things',
      summary: 's',
      tag: 't',
      access: { open: true },
      rateClass: 'none',
      query: schema,
      responses: { 204: { description: 'done' } },
      handle: async () => ({ status: 204 }),
    });
    const document = await openApiDocument({ title: 't', version: '1', contracts: [contract] });
    expect(document).toMatchObject({
      paths: {
        '/things': {
          get: { parameters: [{ name: 'name' }, { name: 'attr.<key>', in: 'query', required: false }] },
        },
      },
    });
  });
});
