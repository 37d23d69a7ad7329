import { gzipSync } from 'node:zlib';
import { standardHeaders, workosHeaders } from '../identity-webhooks.ts';
import { signToken } from '../jwks-server.ts';
import { encodeSpans } from '../otlp-encode.ts';
import { aModelCall } from '../spans.ts';
import { canaries } from './canaries.ts';

export interface CanaryRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

export interface CanaryCaller {
  projectId: string;
  workspaceId: string;
  apiKey: string;
}

export interface Operation {
  method: string;
  path: string;
}

const { payload } = canaries;
const json = { 'Content-Type': 'application/json' };

/** Valid and invalid credentials. Each contains a secret. */
function credentialsOf({ apiKey }: CanaryCaller): Record<string, string>[] {
  const token = tokenOf('user_canary', canaries.jwtSecret);
  return [
    { 'X-API-Key': apiKey },
    { 'X-API-Key': `${apiKey.slice(0, -1)}!` },
    { Authorization: `Bearer ${token}` },
    { Authorization: `Bearer ${token}x` },
    { Authorization: `Basic ${apiKey}` },
    { 'X-Admin-Key': canaries.adminKey },
    { 'X-Admin-Key': `${canaries.adminKey}x` },
    { 'X-Admin-Key': canaries.adminKey, 'X-API-Key': apiKey },
  ];
}

export function tokenOf(subject: string, secret: string): string {
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  return signToken({ alg: 'HS256', typ: 'JWT' }, { sub: subject, exp, email: `${payload}@example.test` }, secret);
}

/**
 * Bodies that are refused for different reasons. The response may repeat the faulty value, but not
 * the other content of the body.
 */
const badBodies: readonly string[] = [
  `{"template": "${payload}", "input": "${payload}", `,
  `{"name": {"first": "${payload}"}, "template": ["${payload}"], "input": "${payload}", "surplus": "${payload}"}`,
  `{"name": "\\u0000", "template": "${payload}", "type": 7, "input": "${payload}"}`,
  JSON.stringify({ name: 'n', type: 'text', template: `{{#open}} ${payload} {{/shut}}`, config: { k: payload } }),
  `["${payload}"]`,
];

/** Returns a request for every operation and credential, and for every operation with a body and every faulty body. */
export function sweepOf(operations: readonly Operation[], caller: CanaryCaller): CanaryRequest[] {
  return operations.flatMap(({ method, path: pattern }) => {
    const ids: Record<string, string> = { project_id: caller.projectId, workspace_id: caller.workspaceId };
    const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name) => ids[name] ?? 'none');
    const hasBody = method !== 'GET' && method !== 'DELETE';
    const bodies = hasBody ? badBodies : [undefined];
    return [
      ...credentialsOf(caller).map((headers) => requestOf(method, path, headers, bodies[0])),
      ...bodies.slice(1).map((body) => requestOf(method, path, { 'X-API-Key': caller.apiKey }, body)),
      ...bodies.slice(1).map((body) => requestOf(method, path, { 'X-Admin-Key': canaries.adminKey }, body)),
    ];
  });
}

function requestOf(method: string, path: string, headers: Record<string, string>, body: string | undefined) {
  return {
    method,
    path,
    headers: { ...headers, ...(body !== undefined && json) },
    ...(body !== undefined && { body }),
  };
}

/** Returns requests with spans, prompts and webhooks that contain canaries. Some are valid, and some are broken. */
export function payloadRequests({ projectId, apiKey }: CanaryCaller): CanaryRequest[] {
  const key = { 'X-API-Key': apiKey };
  const traces = (contentType: string, body: Uint8Array<ArrayBuffer> | string, more: Record<string, string> = {}) => ({
    method: 'POST',
    path: '/api/v1/traces',
    headers: { ...key, 'Content-Type': contentType, ...more },
    body,
  });
  const attributes = { 'gen_ai.prompt': payload, [payload]: payload };
  const good = Buffer.from(encodeSpans('protobuf', [aModelCall(1, 1, { name: payload, attributes })]));
  const noId = { traceId: '00'.repeat(16), name: payload, attributes };
  const text = encodeSpans('json', [aModelCall(1, 1, noId)]);
  const project = `/api/projects/${projectId}`;
  const post = (path: string, body: object) => requestOf('POST', project + path, key, JSON.stringify(body));
  return [
    traces('application/x-protobuf', good),
    traces('application/x-protobuf', good.subarray(0, -9)),
    traces('application/json', good),
    traces('application/json', Buffer.from(text)),
    traces('application/json', `{"resourceSpans": [{"scopeSpans": "${payload}"}], "${payload}": `),
    traces('application/x-protobuf', gzipSync(good).subarray(0, -6), { 'Content-Encoding': 'gzip' }),
    traces('text/plain', payload),
    post('/executions', { name: payload, input: payload, output: { text: payload }, metadata: { note: payload } }),
    post('/executions', { name: payload, input: payload, spans: [{ name: payload, span_id: 'short' }] }),
    post('/prompts', { name: 'canary', type: 'text', template: `${payload} {{who}}`, config: { note: payload } }),
    post('/prompts', { name: 'canary', type: 'chat', messages: [{ role: 'user', content: `{{#a}} ${payload}` }] }),
    post('/prompts/canary/render', { variables: { other: payload } }),
    post('/prompts/canary/render', { variables: { who: payload }, on_extra: 'error' }),
    post('/prompts/validate', { template: `{{> none}} {{#a}} ${payload}`, variables: { who: payload } }),
    post('/parts', { name: 'canary', template: `{{> canary}} ${payload}` }),
    {
      method: 'POST',
      path: `${project}/prompts/import`,
      headers: { ...key, 'Content-Type': 'application/x-ndjson' },
      body: `{"record":"prompt","name":"${payload}"}\n{"record": "${payload}`,
    },
    ...webhooks(),
  ];
}

function webhooks(): CanaryRequest[] {
  const { clerkSecret, genericSecret, workosSecret } = canaries;
  const data = { id: `user_${payload}`, first_name: payload, email_addresses: [{ email_address: payload }] };
  const bodies = [
    JSON.stringify({ type: 'user.created', data }),
    JSON.stringify({ type: 'user.created', data: { ...data, id: 7 } }),
    `{"type": "user.created", "data": "${payload}`,
  ];
  const to = (provider: string, headers: Record<string, string>, body: string) => ({
    method: 'POST',
    path: `/api/webhooks/${provider}`,
    headers: { ...json, ...headers },
    body,
  });
  return bodies.flatMap((body) => [
    to('clerk', standardHeaders(body, 'svix', { secret: clerkSecret }), body),
    to('clerk', standardHeaders(body, 'svix', { secret: genericSecret }), body),
    to('clerk', standardHeaders(body, 'svix', { secret: clerkSecret, atMs: 0 }), body),
    to('generic', standardHeaders(body, 'webhook', { secret: genericSecret }), body),
    to('workos', workosHeaders(body, { secret: workosSecret }), body),
    to('workos', { 'workos-signature': `t=1, v1=${workosSecret}` }, body),
    to('nobody', {}, body),
  ]);
}
