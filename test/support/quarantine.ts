import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { connectRequestRedis, firstConnection } from '../../src/stores/redis/client.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from './api.ts';
import { until } from './until.ts';

export interface QuarantinedWire {
  id: string;
  project_id: string;
  reason: string;
  attempts: number;
  content_type: string;
  content_encoding: string;
  body_bytes: number;
  spans: number;
  received_at: string;
  quarantined_at: string;
  replayed_at: string | null;
}

export interface QuarantinePage {
  data: QuarantinedWire[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}

/** Returns the data that the API stores about an accepted body. */
export function payloadOf(
  project: ProjectOfTest,
  body: Buffer,
  given: Partial<IngestBodyPayload> = {},
): IngestBodyPayload {
  return {
    v: 1,
    workspaceId: 'wsp_test',
    projectId: project.id,
    retentionDays: 30,
    encoding: 'protobuf',
    coding: 'identity',
    inflatedBytes: body.length,
    spans: 1,
    receivedAtMs: Date.now(),
    ...given,
  };
}

/** Publishes a body directly, without the checks of the API. Returns its id. */
export async function publishBody(
  publisher: BodyPublisher,
  project: ProjectOfTest,
  body: Buffer,
  given: Partial<IngestBodyPayload> = {},
): Promise<string> {
  const id = `b_${randomBytes(32).toString('hex')}`;
  await publisher.publish(id, body, payloadOf(project, body, given), undefined);
  return id;
}

/** Returns the entry of a body after it exists and matches. */
export function untilQuarantined(
  api: TestApi,
  id: string,
  isDone: (entry: QuarantinedWire) => boolean = () => true,
): Promise<QuarantinedWire> {
  return until(`body ${id} in the quarantine`, 30_000, async () => {
    const entry = (await listQuarantine(api)).find((each) => each.id === id);
    return entry !== undefined && isDone(entry) && entry;
  });
}

/** Returns the entries of all pages. */
export async function listQuarantine(api: TestApi, limit = 100): Promise<QuarantinedWire[]> {
  const entries: QuarantinedWire[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit, ...(cursor && { cursor }) };
    const { data, page } = await api.admin<QuarantinePage>('listQuarantinedBodies', { query }, 200);
    entries.push(...data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return entries;
}

/** A body that no decoder accepts. The API would refuse it. */
export const corruptBody = gzipSync('neither protobuf').subarray(0, -4);

export interface QuarantineTest {
  api: TestApi;
  project: ProjectOfTest;
  publisher: BodyPublisher;
  /** Publishes {@link corruptBody} and returns its id. */
  publishCorrupt(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Starts an API with a project, and the publisher of the product, which publishes a corrupt body
 * without the checks of the API.
 */
export async function startQuarantineTest(): Promise<QuarantineTest> {
  const api = await startApi();
  const project = await newProject(api);
  const redis = connectRequestRedis(api.config.redisUrl);
  await firstConnection(redis);
  const publisher = createBodyPublisher(redis);
  return {
    api,
    project,
    publisher,
    publishCorrupt: () => publishBody(publisher, project, corruptBody, { coding: 'gzip', spans: 3 }),
    async close() {
      await publisher.close();
      redis.disconnect();
      await api.close();
    },
  };
}

/** Expects an operation of the quarantine to be allowed only for operators, whatever the project of the body. */
export async function expectOperatorsOnly({ api, project }: QuarantineTest, operationId: string): Promise<void> {
  const params = { body_id: 'x' };
  expectProblem(await api.call(operationId, { params }), 401, 'credentials_required');
  expectProblem(await api.call(operationId, { params, key: project.key }), 403, 'admin_required');
}
