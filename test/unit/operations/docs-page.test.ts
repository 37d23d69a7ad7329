import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { curlOf } from '../../../src/domains/operations/docs/curl.ts';
import { html, prose } from '../../../src/domains/operations/docs/html.ts';
import { docsPage } from '../../../src/domains/operations/docs/page.ts';
import { schemaRows, typeText } from '../../../src/domains/operations/docs/schema-rows.ts';
import { endpoint } from '../../../src/http/endpoint.ts';
import { openApiDocument } from '../../../src/http/openapi/document.ts';

const none = () => undefined;

describe('markup', () => {
  test('escapes what is put into it, in text and attributes, and leaves markup alone', () => {
    const hostile = `"><script>alert('x')</script>&`;
    expect(html`<a title="${hostile}">${[html`<b>${hostile}</b>`, 1, undefined]}</a>`.markup).toBe(
      '<a title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;">' +
        '<b>&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;</b>1</a>',
    );
  });
  test('of prose has code for backticks, escaped as well', () => {
    expect(prose('give `<a>` or <b>').markup).toBe('give <code>&lt;a&gt;</code> or &lt;b&gt;');
  });
});

describe('the rows of a schema', () => {
  test('are its fields by path, with type, bounds and whether they are required', () => {
    const schema = z.toJSONSchema(
      z.object({
        limit: z.int().min(1).max(100).default(20),
        state: z.enum(['ok', 'error']).nullable(),
        items: z.array(z.object({ name: z.string().max(10).meta({ description: 'A name' }) })).optional(),
      }),
      { io: 'input' },
    );
    expect(schemaRows(schema, none)).toEqual([
      { path: 'limit', type: 'integer 1..100 = 20', required: false, description: '' },
      { path: 'state', type: '"ok" | "error" or null', required: true, description: '' },
      { path: 'items', type: 'array of object', required: false, description: '' },
      { path: 'items[].name', type: 'string of 0..10 characters', required: true, description: 'A name' },
    ]);
  });
  test('of a schema within itself end', () => {
    const tree = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
      },
    };
    const rows = schemaRows({ $ref: '#/components/schemas/Tree' }, () => tree);
    expect(rows.map(({ path }) => path)).toEqual(['name', 'children', 'children[].name', 'children[].children']);
    expect(typeText({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER }, none)).toBe('integer');
  });
});

function documentOf(name: string) {
  const contract = endpoint({
    operationId: 'makeThing',
    method: 'POST',
    path: '/api/{thing_id}/parts',
    summary: name,
    tag: 'things',
    access: { scope: 'things:write' },
    rateClass: 'write',
    params: z.strictObject({ thing_id: z.string().meta({ example: 'a b' }) }),
    query: z.strictObject({ at: z.string().meta({ example: '1+1' }), maybe: z.string().optional() }),
    body: z.strictObject({ name: z.string().meta({ example: name }) }),
    responses: { 201: { description: 'made', schema: z.object({ id: z.string() }) } },
    handle: async () => ({ status: 201, body: { id: '1' } }),
  });
  return openApiDocument({ title: 'T', version: '1', contracts: [contract], leastRoleOf: () => 'member' });
}

describe('the page', () => {
  test('of a hostile name has it as text only', () => {
    const page = docsPage(documentOf(`</pre><script>alert("x")</script>`));
    expect(page).not.toContain('<script');
    expect(page).toContain('&lt;script&gt;alert(&quot;x&quot;)');
  });
  test('says who may call, and what an error may be', () => {
    const page = docsPage(documentOf('Make it'));
    expect(page).toContain(
      'A key needs the scope <code>things:write</code>. A user needs the role <code>member</code>',
    );
    expect(page).toContain('<a href="#code-idempotency_key_reused">');
  });
});

test('the command is one a shell takes: path and query filled in, quotes within the body kept', () => {
  const document = documentOf("it's");
  const operation = Object(document.paths)['/api/{thing_id}/parts'].post;
  expect(curlOf('post', '/api/{thing_id}/parts', operation)).toBe(
    [
      'curl -X POST "$URL/api/a%20b/parts?at=1%2B1" \\',
      '  -H "X-API-Key: $API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d '{"name":"it'\\''s"}'`,
    ].join('\n'),
  );
});
