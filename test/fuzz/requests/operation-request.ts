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
import { fullBodies } from './full-bodies.ts';
import { goodBodies } from './good-bodies.ts';
import { identityEventBody } from './identity-events.ts';
import { importText } from './import-lines.ts';
import { otlpBody } from './otlp-bodies.ts';
import { type FuzzRequest, headerText, percentEncoded } from './request.ts';

interface Body {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
}

/** The fault of a request. There is usually only one, because a second fault would hide the first one. */
type Fault = 'none' | 'path' | 'query' | 'credential' | 'headers' | 'body' | 'method' | 'everything';

/** Draws a fault that the operation can have. */
function faultsOf({ parameters, requestBody, operationId }: Operation): fc.Arbitrary<Fault> {
  const has = (place: Parameter['in']) => parameters.some((parameter) => parameter.in === place);
  const weights: Readonly<Record<Fault, number>> = {
    none: 6,
    path: has('path') ? 3 : 0,
    query: has('query') ? 6 : 1,
    credential: 1,
    headers: 3,
    body: requestBody === undefined && operationId !== 'receiveIdentityWebhook' ? 1 : 12,
    method: 1,
    everything: 1,
  };
  const weighted = Object.entries(weights) as [Fault, number][];
  return fc.oneof(...weighted.map(([fault, weight]) => ({ arbitrary: fc.constant(fault), weight })));
}

/** Requests of one operation. Most have one fault, so that they pass the first check. */
export function requestOf(operation: Operation, world: World, sizes: Sizes): fc.Arbitrary<FuzzRequest> {
  const hostile = hostileText(sizes);
  const wrongMethod = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND');
  return faultsOf(operation).chain((fault) => {
    const isAt = (place: Fault) => fault === place || fault === 'everything';
    return fc
      .record({
        path: pathOf(operation, world, hostile, isAt('path')),
        query: queryOf(operation, world, sizes, isAt('query') ? hostile : undefined),
        credential: isAt('credential') ? oddCredential(hostile) : credentialOf(operation, world),
        more: isAt('headers') ? oddHeaders(hostile) : goodHeaders(operation),
        body: bodyOf(operation, world, sizes, isAt('body')),
        method: isAt('method') ? wrongMethod : fc.constant(operation.method),
        isChunked: oneIn(8),
      })
      .map(({ path, query, credential, more, body, method, isChunked }) => ({
        operationId: operation.operationId,
        method,
        target: path.text + query,
        headers: { ...body?.headers, ...(path.isForeign ? withoutAdmin(credential, world) : credential), ...more },
        ...(body !== undefined && { body: body.bytes }),
        chunked: isChunked && body !== undefined,
        routed: path.isRouted && method === operation.method,
        foreign: path.isForeign,
      }));
  });
}

/** Replaces the admin key, because the operator may change the innocent workspace. */
function withoutAdmin(credential: Record<string, string>, { attacker }: World): Record<string, string> {
  return 'X-Admin-Key' in credential ? { 'X-API-Key': attacker.apiKey } : credential;
}

/** Draws true once in `times`. Numbers of fast-check would be biased toward their limits. */
const oneIn = (times: number) =>
  fc.oneof({ arbitrary: fc.constant(true), weight: 1 }, { arbitrary: fc.constant(false), weight: times - 1 });

interface Path {
  text: string;
  isRouted: boolean;
  isForeign: boolean;
}

function pathOf(
  operation: Operation,
  { ids, canary }: World,
  hostile: fc.Arbitrary<string>,
  isFaulty: boolean,
): fc.Arbitrary<Path> {
  const foreignIds: Readonly<Record<string, string>> = {
    project_id: canary.projectId,
    workspace_id: canary.workspaceId,
    prompt_id: canary.promptId,
  };
  const names = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const values = names.map((name) => {
    const which = deletes(operation, name) ? 'passing' : 'any';
    const own = ids.pick(name, hostile, which).map((value) => ({ value, foreign: false }));
    const foreign = foreignIds[name];
    const odd = hostile.map((value) => ({ value: value.slice(0, 3_000), foreign: false }));
    const others = foreign === undefined ? [odd] : [odd, fc.constant({ value: foreign, foreign: true })];
    return isFaulty ? fc.oneof(own, ...others) : own;
  });
  return fc.tuple(...values).map((drawn) => {
    let text = operation.path;
    for (const [at, name] of names.entries())
      text = text.replace(`{${name}}`, () => percentEncoded(drawn[at]?.value ?? ''));
    return {
      text,
      isRouted: drawn.every(({ value }) => !/^\.{0,2}$/.test(value)),
      isForeign: drawn.some(({ foreign }) => foreign),
    };
  });
}

function deletes({ method, path }: Operation, name: string): boolean {
  return method === 'DELETE' && path.endsWith(`{${name}}`);
}

/** The filter runs more code than any other parameter. */
const filterWeight = 10;

/** Uses `hostile` values if given, otherwise values of the schema. */
function queryOf(
  operation: Operation,
  world: World,
  sizes: Sizes,
  hostile: fc.Arbitrary<string> | undefined,
): fc.Arbitrary<string> {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'query');
  const required = parameters
    .filter((parameter) => parameter.required)
    .map((parameter) => pairOf(parameter, world, sizes, hostile));
  const optional =
    parameters.length === 0
      ? fc.constant('')
      : fc.oneof(
          ...parameters.map((parameter) => ({
            arbitrary: pairOf(parameter, world, sizes, hostile),
            weight: parameter.name === 'filter' ? filterWeight : 1,
          })),
        );
  const surplus = (hostile ?? fc.constant('')).map((text) => percentEncoded(text.slice(0, 2_000)));
  const other =
    hostile === undefined
      ? optional
      : fc.oneof({ arbitrary: optional, weight: parameters.length === 0 ? 0 : 20 }, { arbitrary: surplus, weight: 1 });
  const others = fc.array(other, { maxLength: hostile === undefined ? 2 : 4 });
  return fc.tuple(fc.tuple(...required), others).map(([first, more]) => {
    const pairs = [...first, ...more].filter((pair) => pair !== '');
    return pairs.length === 0 ? '' : `?${pairs.join('&').slice(0, 14_000)}`;
  });
}

function pairOf(
  { name, schema }: Parameter,
  world: World,
  sizes: Sizes,
  hostile: fc.Arbitrary<string> | undefined,
): fc.Arbitrary<string> {
  const special: Readonly<Record<string, fc.Arbitrary<string>>> = {
    filter: filterText(sizes),
    cursor: cursorText(world.ids.pick('cursor', fc.constant('AbCdEf0123456789')), hostile ?? fc.constant('')),
  };
  const small = schema.type === 'integer' ? fc.constantFrom('1', '2', '3') : validFor(schema, {}).map(String);
  const valid = special[name] ?? world.ids.pick(name, small);
  const value =
    hostile === undefined ? valid : fc.oneof({ arbitrary: valid, weight: 1 }, { arbitrary: hostile, weight: 2 });
  const key = name.startsWith('attr.')
    ? (hostile ?? fc.constant('a')).map((text) => `attr.${text.slice(0, 300)}`)
    : fc.constant(name);
  return fc.tuple(key, value).map((pair) => pair.map((text) => percentEncoded(text.slice(0, 12_000))).join('='));
}

function credentialOf(operation: Operation, { attacker, adminKey }: World): fc.Arbitrary<Record<string, string>> {
  const key = fc.constant({ 'X-API-Key': attacker.apiKey });
  const token = fc.constant({ Authorization: `Bearer ${attacker.token}` });
  const admin = fc.constant({ 'X-Admin-Key': adminKey });
  if (/quarantine|identity-events|^\/metrics/.test(operation.path)) return admin;
  if (/workspaces|api-keys/.test(operation.path)) return fc.oneof(token, admin);
  return operation.operationId.startsWith('export') && operation.path.startsWith('/api/v1/')
    ? key
    : fc.oneof({ arbitrary: key, weight: 5 }, { arbitrary: token, weight: 1 }, { arbitrary: admin, weight: 1 });
}

function oddCredential(hostile: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  const text = hostile.map(headerText);
  return fc.oneof(
    text.map((each) => ({ 'X-API-Key': each })),
    text.map((each) => ({ Authorization: `Bearer ${each}` })),
    text.map((each) => ({ 'X-Admin-Key': each })),
  );
}

const oddHeaderNames = [
  ...['Idempotency-Key', 'If-Match', 'If-None-Match', 'Prefer', 'Accept', 'X-Request-Id', 'Content-Encoding'],
  ...['Content-Type', 'Expect', 'Accept-Encoding', 'traceparent'],
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

function oddHeaders(hostile: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  const value = fc.oneof(
    { arbitrary: fc.constantFrom(...knownHeaderValues), weight: 3 },
    { arbitrary: hostile.map((text) => headerText(text).slice(0, 4_000)), weight: 1 },
  );
  return fc.tuple(fc.constantFrom(...oddHeaderNames), value).map(([name, text]) => ({ [name]: text }));
}

function goodHeaders({ operationId, method }: Operation): fc.Arbitrary<Record<string, string>> {
  const none = { arbitrary: fc.constant({}), weight: 4 };
  const once = { arbitrary: fc.uuid().map((key) => ({ 'Idempotency-Key': key })), weight: method === 'POST' ? 1 : 0 };
  const waiting = { arbitrary: fc.constant({ Prefer: 'wait=2' }), weight: operationId === 'createExecution' ? 1 : 0 };
  return fc.oneof(none, once, waiting);
}

/** A body. Its values are faulty if `isFaulty`. Most OTLP bodies and imports are faulty in any case. */
function bodyOf(operation: Operation, world: World, sizes: Sizes, isFaulty: boolean): fc.Arbitrary<Body | undefined> {
  const { requestBody, operationId } = operation;
  if (operationId === 'receiveIdentityWebhook') return identityEventBody(sizes);
  if (requestBody === undefined) {
    const surplus = fc.constant({ bytes: Buffer.from('{"a":1}'), headers: json });
    return isFaulty ? fc.oneof(surplus, fc.constant(undefined)) : fc.constant(undefined);
  }
  if (operationId === 'exportTraces') return otlpBody('traces', sizes);
  if (operationId === 'exportLogs' || operationId === 'exportMetrics') return otlpBody('logs', sizes);
  if (operationId === 'importPrompts')
    return importText(world.exported, sizes).map((bytes) => ({
      bytes,
      headers: { 'Content-Type': 'application/x-ndjson' },
    }));
  const hints = hintsOf(world);
  const schema = requestBody.content['application/json']?.schema ?? {};
  const good = goodBodies[operationId];
  const full = fullBodies(sizes)[operationId];
  const valid = fc.oneof(
    { arbitrary: validFor(schema, hints), weight: 8 },
    ...(good === undefined ? [] : [{ arbitrary: good, weight: 8 }]),
    ...(full === undefined ? [] : [{ arbitrary: full, weight: 1 }]),
  );
  if (!isFaulty) return valid.map((value) => ({ bytes: Buffer.from(toJsonText(value)), headers: json }));
  const hostile = hostileValue(sizes);
  const value = fc.oneof({ arbitrary: mutated(valid, sizes), weight: 12 }, { arbitrary: hostile, weight: 1 });
  const text = value.map((each) => Buffer.from(toJsonText(each)));
  const bytes = fc.oneof(
    { arbitrary: text, weight: 16 },
    { arbitrary: text.chain(mutatedBytes), weight: 2 },
    { arbitrary: fc.constant(Buffer.alloc(0)), weight: 1 },
  );
  const sent = bytes.map((each) => ({ bytes: each, headers: json }));
  const compressed = bytes.map((each) => ({ bytes: gzipSync(each), headers: { ...json, 'Content-Encoding': 'gzip' } }));
  return fc.oneof(
    { arbitrary: sent, weight: 18 },
    { arbitrary: compressed, weight: 1 },
    { arbitrary: bytes.map((each) => ({ bytes: each, headers: {} })), weight: 1 },
  );
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
    // The attacker keeps its plan and quota, so that no limit prevents the execution of code.
    plan: fc.constant('enterprise'),
    plan_overrides: fc.record({ retention_days: fc.integer({ min: 1, max: 36_500 }) }, { requiredKeys: [] }),
  };
}
