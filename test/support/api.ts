import { randomUUID } from 'node:crypto';
import { expect, inject } from 'vitest';
import { type ApiProcess, createApiProcess } from '../../src/api/process.ts';
import type { Config } from '../../src/config.ts';
import type { Problem } from '../../src/http/problem.ts';
import { listen } from '../../src/http/server.ts';
import { newId } from '../../src/lib/ids.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { randomSecret } from './worker-process.ts';

export interface Answer<T> {
  status: number;
  headers: Headers;
  text: string;
  body: T;
}

/** A list sends its parameter several times. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface CallOptions {
  params?: Readonly<Record<string, string>>;
  query?: Query;
  body?: unknown;
  /** Sent as X-API-Key. */
  key?: string;
  /** Sent as X-Admin-Key. */
  adminKey?: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent as Authorization: Bearer. */
  token?: string;
}

export interface TestApi {
  url: string;
  config: Config;
  process: ApiProcess;
  postgres: Postgres;
  /** Calls an operation by its contract. A successful response must match the contract. */
  call<T = Problem>(operationId: string, options?: CallOptions): Promise<Answer<T>>;
  /** Calls an operation as the operator. The response must have `status`. */
  admin<T>(operationId: string, options: CallOptions, status: number): Promise<T>;
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;

/** The engines of this run, and secrets of this API only. */
export function testConfig(overrides: Partial<Config> = {}): Config {
  return {
    port: 0,
    host: '127.0.0.1',
    databaseUrl: inject('serviceDatabaseUrl'),
    redisUrl: inject('redisUrl'),
    clickhouseUrl: inject('serviceClickhouseUrl'),
    clickhouseShardUrls: [inject('serviceClickhouseUrl')],
    adminApiKey: randomSecret(),
    apiKeyPepper: randomSecret(),
    jwt: { secret: randomSecret(), jwksUrl: undefined, issuers: [], audiences: [] },
    logLevel: 'error',
    defaultPlan: 'enterprise',
    identityWebhookSecrets: { clerk: [], workos: [], generic: [] },
    webhookTargets: { allowPrivate: false, proxyUrl: undefined },
    llm: { baseUrl: undefined, apiKey: undefined, reflectionModel: undefined },
    otlpBodyBytesMax: 16 * megabyte,
    otlpInflatedBytesMax: 64 * megabyte,
    otlpLogsOther: 'keep',
    ingestQueueBytesMax: 1024 * megabyte,
    ...overrides,
  };
}

/** Starts the API of one test file, in this process, on a free port of loopback. */
export async function startApi(overrides: Partial<Config> = {}): Promise<TestApi> {
  const config = testConfig(overrides);
  const process = createApiProcess(config);
  await process.start();
  const server = await listen({ app: process.app, port: 0, host: config.host });
  const url = `http://${config.host}:${server.port}`;
  const postgres = connectPostgres(overrides.databaseUrl ?? inject('databaseUrl'), 2);

  async function call<T>(operationId: string, options: CallOptions = {}): Promise<Answer<T>> {
    const contract = process.endpoints.find((endpoint) => endpoint.operationId === operationId);
    if (contract === undefined) throw new Error(`There is no operation ${operationId}`);
    const path = contract.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(options.params?.[name] ?? ''));
    const response = await fetch(`${url}${path}?${new URLSearchParams(toText(options.query))}`, {
      method: contract.method,
      headers: {
        ...(options.key === undefined ? {} : { 'X-API-Key': options.key }),
        ...(options.adminKey === undefined ? {} : { 'X-Admin-Key': options.adminKey }),
        ...(options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
        ...(options.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      body: options.body === undefined ? null : JSON.stringify(options.body),
    });
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    const body = isJson ? JSON.parse(text) : undefined;
    const spec = Object.entries(contract.responses).find(([status]) => status === String(response.status));
    spec?.[1]?.schema?.parse(body);
    return { status: response.status, headers: response.headers, text, body };
  }

  return {
    url,
    config,
    process,
    postgres,
    call,
    async admin<T>(operationId: string, options: CallOptions, status: number) {
      const answer = await call<T>(operationId, { adminKey: config.adminApiKey, ...options });
      expect(answer.status, answer.text).toBe(status);
      return answer.body;
    },
    async close() {
      await server.close(1_000);
      await process.close();
      await postgres.destroy();
    },
  };
}

export interface CreatedKey {
  id: string;
  key: string;
  name: string;
  prefix: string;
  last4: string;
  scopes: string[];
  created_at: string;
  expires_at: string | null;
}

export interface ProjectOfTest {
  id: string;
  workspaceId: string;
  /** A key with every scope. */
  key: string;
}

/**
 * Creates a project and a key for one test with the admin endpoints. No endpoint creates
 * workspaces, so the workspace is inserted.
 */
export async function newProject(api: TestApi, plan: Config['defaultPlan'] = 'enterprise'): Promise<ProjectOfTest> {
  const workspaceId = newId('wsp');
  await api.postgres('workspaces').insert({ id: workspaceId, name: `test ${randomUUID()}`, plan });
  const project = await api.admin<{ id: string }>(
    'createProject',
    { params: { workspace_id: workspaceId }, body: { name: 'test' } },
    201,
  );
  const { key } = await newKey(api, project.id, {});
  return { id: project.id, workspaceId, key };
}

/** Creates another key of a project. */
export async function newKey(api: TestApi, projectId: string, body: object): Promise<CreatedKey> {
  const options = { params: { project_id: projectId }, body: { name: 'test', ...body } };
  return api.admin<CreatedKey>('createApiKey', options, 201);
}

/** Expects a response to be a problem (RFC 9457) with this status and code, and returns it. */
export function expectProblem(answer: Answer<unknown>, status: number, code: string): Problem {
  const problem = answer.body as Problem;
  expect({ status: answer.status, code: problem?.code }, answer.text).toEqual({ status, code });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(problem).toMatchObject({
    type: `urn:promptlane:problem:${code}`,
    status,
    title: expect.stringMatching(/\w/),
    detail: expect.stringMatching(/\w/),
    instance: expect.stringMatching(/^\//),
    request_id: answer.headers.get('x-request-id'),
  });
  return problem;
}

function toText(query: Query = {}): [string, string][] {
  return Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
}
