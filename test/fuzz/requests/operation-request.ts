import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Operation, Parameter } from '../openapi.ts';
import { filterText } from '../values/filters.ts';
import { hostileText, hostileValue, type Sizes } from '../values/hostile.ts';
import { mutated, mutatedBytes } from '../values/mutate.ts';
import { toJsonText } from '../values/raw-json.ts';
import { inputSchema, template, variables } from '../values/templates.ts';
import type { World } from '../world.ts';
import { cursorText } from './cursors.ts';
import { type Hints, validFor } from './from-schema.ts';
import { importText } from './import-lines.ts';
import { tracesBody } from './otlp-bodies.ts';
import { type FuzzRequest, headerText, percentEncoded } from './request.ts';

interface Body {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
}

/** Requests of one operation: most are nearly good, so that they get beyond the first check. */
export function requestOf(operation: Operation, world: World, sizes: Sizes): fc.Arbitrary<FuzzRequest> {
  const hostile = hostileText(sizes);
  const wrongMethod = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND');
  return fc
    .record({
      path: pathOf(operation, world, hostile),
      query: queryOf(operation, world, sizes, hostile),
      credential: credentialOf(operation, world, hostile),
      more: oddHeaders(operation, hostile),
      body: bodyOf(operation, world, sizes),
      method: fc.oneof({ arbitrary: fc.constant(operation.method), weight: 60 }, { arbitrary: wrongMethod, weight: 1 }),
      chunked: fc.integer({ min: 0, max: 7 }).map((drawn) => drawn === 0),
    })
    .map(({ path, query, credential, more, body, method, chunked }) => ({
      operationId: operation.operationId,
      method,
      target: path.text + query,
      headers: { ...body?.headers, ...credential, ...more },
      ...(body !== undefined && { body: body.bytes }),
      chunked: chunked && body !== undefined,
      routed: path.routed && method === operation.method,
      foreign: path.foreign && !('X-Admin-Key' in credential),
    }));
}

interface Path {
  text: string;
  routed: boolean;
  foreign: boolean;
}

function pathOf(operation: Operation, { ids, canary }: World, hostile: fc.Arbitrary<string>): fc.Arbitrary<Path> {
  const foreignIds: Readonly<Record<string, string>> = {
    project_id: canary.projectId,
    workspace_id: canary.workspaceId,
    prompt_id: canary.promptId,
  };
  const names = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const values = names.map((name) =>
    fc.oneof(
      { arbitrary: ids.pick(name, hostile).map((value) => ({ value, foreign: false })), weight: 14 },
      { arbitrary: hostile.map((value) => ({ value: value.slice(0, 3_000), foreign: false })), weight: 2 },
      ...(foreignIds[name] === undefined
        ? []
        : [{ arbitrary: fc.constant({ value: foreignIds[name], foreign: true }), weight: 1 }]),
    ),
  );
  return fc.tuple(...values).map((drawn) => {
    let text = operation.path;
    for (const [at, name] of names.entries())
      text = text.replace(`{${name}}`, () => percentEncoded(drawn[at]?.value ?? ''));
    return {
      text,
      routed: drawn.every(({ value }) => !/^\.{0,2}$/.test(value)),
      foreign: drawn.some(({ foreign }) => foreign),
    };
  });
}

function queryOf(
  operation: Operation,
  world: World,
  sizes: Sizes,
  hostile: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'query');
  if (parameters.length === 0)
    return fc.oneof(
      { arbitrary: fc.constant(''), weight: 12 },
      { arbitrary: hostile.map((text) => `?${percentEncoded(text.slice(0, 2_000))}`), weight: 1 },
    );
  const pair = fc.constantFrom(...parameters).chain((parameter) => {
    const name = parameter.name.startsWith('attr.')
      ? hostile.map((key) => `attr.${key.slice(0, 300)}`)
      : fc.constant(parameter.name);
    return fc
      .tuple(name, queryValue(parameter, world, sizes, hostile))
      .map(([key, value]) => `${percentEncoded(key)}=${percentEncoded(value.slice(0, 12_000))}`);
  });
  const surplus = hostile.map((text) => percentEncoded(text.slice(0, 500)));
  const some = fc.array(fc.oneof({ arbitrary: pair, weight: 20 }, { arbitrary: surplus, weight: 1 }), { maxLength: 4 });
  return some.map((pairs) => (pairs.length === 0 ? '' : `?${pairs.join('&').slice(0, 14_000)}`));
}

function queryValue(
  { name, schema }: Parameter,
  world: World,
  sizes: Sizes,
  hostile: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const special: Readonly<Record<string, fc.Arbitrary<string>>> = {
    filter: filterText(sizes),
    cursor: cursorText(world.ids.of('cursor'), hostile),
  };
  const valid = special[name] ?? world.ids.pick(name, validFor(schema, {}).map(String));
  return fc.oneof({ arbitrary: valid, weight: 3 }, { arbitrary: hostile, weight: 1 });
}

function credentialOf(
  operation: Operation,
  { attacker, adminKey }: World,
  hostile: fc.Arbitrary<string>,
): fc.Arbitrary<Record<string, string>> {
  const forAdmins = /quarantine|identity-events|metrics/.test(operation.path);
  const odd = hostile.map(headerText);
  return fc.oneof(
    { arbitrary: fc.constant({ 'X-API-Key': attacker.apiKey }), weight: forAdmins ? 1 : 12 },
    { arbitrary: fc.constant({ Authorization: `Bearer ${attacker.token}` }), weight: forAdmins ? 1 : 6 },
    { arbitrary: fc.constant({ 'X-Admin-Key': adminKey }), weight: forAdmins ? 12 : 4 },
    { arbitrary: odd.map((text) => ({ 'X-API-Key': text })), weight: 1 },
    { arbitrary: odd.map((text) => ({ Authorization: `Bearer ${text}` })), weight: 1 },
  );
}

const oddHeaderNames = [
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Prefer',
  'Accept',
  'X-Request-Id',
  'Content-Encoding',
  'Content-Type',
  'Expect',
  'Accept-Encoding',
  'traceparent',
];
const knownHeaderValues = [
  ...[
    'wait=0',
    'wait=1',
    'wait=99999999999999999999',
    'wait=-1',
    'wait=NaN',
    'respond-async, wait=1',
    '*',
    '"1"',
    'W/"1"',
    '"x", "y"',
  ],
  ...[
    'gzip',
    'br',
    'identity, gzip',
    'gzip, gzip',
    'text/html',
    'application/json; charset=utf-16',
    'application/json;q=0',
    '100-continue',
    'x-1',
  ],
];

function oddHeaders({ operationId }: Operation, hostile: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  const value = fc.oneof(
    { arbitrary: fc.constantFrom(...knownHeaderValues), weight: 3 },
    { arbitrary: hostile.map((text) => headerText(text).slice(0, 4_000)), weight: 1 },
  );
  const odd = fc.tuple(fc.constantFrom(...oddHeaderNames), value).map(([name, text]) => ({ [name]: text }));
  const waiting = fc.constant({ Prefer: 'wait=2' });
  return fc.oneof(
    { arbitrary: fc.constant({}), weight: 8 },
    { arbitrary: odd, weight: 2 },
    { arbitrary: operationId === 'createExecution' ? waiting : odd, weight: 1 },
  );
}

function bodyOf(operation: Operation, world: World, sizes: Sizes): fc.Arbitrary<Body | undefined> {
  if (operation.requestBody === undefined) {
    return fc.oneof(
      { arbitrary: fc.constant(undefined), weight: 15 },
      { arbitrary: fc.constant({ bytes: Buffer.from('{"a":1}'), headers: json }), weight: 1 },
    );
  }
  if (operation.operationId === 'exportTraces') return tracesBody(sizes);
  if (operation.operationId === 'importPrompts')
    return importText(world.exported, sizes).map((bytes) => ({
      bytes,
      headers: { 'Content-Type': 'application/x-ndjson' },
    }));
  const schema = operation.requestBody.content['application/json']?.schema ?? {};
  const hostile = hostileValue(sizes);
  const valid = validFor(schema, hintsOf(world));
  const value = fc.oneof(
    { arbitrary: valid, weight: 4 },
    { arbitrary: mutated(valid, hostile), weight: 8 },
    { arbitrary: hostile, weight: 1 },
  );
  const text = value.map((each) => Buffer.from(toJsonText(each)));
  const broken = text.chain(mutatedBytes);
  const plain = fc.oneof(
    { arbitrary: text, weight: 16 },
    { arbitrary: broken, weight: 2 },
    { arbitrary: fc.constant(Buffer.alloc(0)), weight: 1 },
  );
  return fc.tuple(plain, fc.integer({ min: 0, max: 19 })).map(([bytes, drawn]) => {
    if (drawn === 0) return { bytes: gzipSync(bytes), headers: { ...json, 'Content-Encoding': 'gzip' } };
    return { bytes, headers: drawn === 1 ? {} : json };
  });
}

const json = { 'Content-Type': 'application/json' };

function hintsOf({ ids }: World): Hints {
  const orNone = fc.constant('none');
  return {
    template,
    content: template,
    variables,
    input_schema: inputSchema,
    slug: fc.stringMatching(/^[a-z0-9]{1,8}$/),
    prompt_id: ids.pick('prompt_id', orNone),
    part_slug: fc.constantFrom('base-part', 'none'),
    trace_id: fc.oneof(ids.pick('trace_id', orNone), fc.stringMatching(/^[0-9a-f]{32}$/)),
    template_format: fc.constantFrom('mustache', 'liquid', 'plain'),
    input: fc.oneof(fc.jsonValue({ maxDepth: 3 }), template),
    output: fc.oneof(fc.jsonValue({ maxDepth: 3 }), template),
    // Nobody takes the attacker's own plan and quota away, so that limits hide no code.
    plan: fc.constant('enterprise'),
    plan_overrides: fc.record({ retention_days: fc.integer({ min: 1, max: 36_500 }) }, { requiredKeys: [] }),
  };
}
