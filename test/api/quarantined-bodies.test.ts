import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import {
  listQuarantine,
  publishBody,
  type QuarantinedWire,
  type QuarantinePage,
  untilQuarantined,
} from '../support/quarantine.ts';
import { aSpan } from '../support/spans.ts';
import { untilStored } from '../support/traces.ts';

/** Passes no decoder, and is not what the edge would have let through. */
const corrupt = gzipSync('neither protobuf').subarray(0, -4);

let api: TestApi;
let project: ProjectOfTest;
let redis: Redis;
let publisher: BodyPublisher;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  redis = connectRequestRedis(api.config.redisUrl);
  await firstConnection(redis);
  publisher = createBodyPublisher(redis);
});
afterAll(async () => {
  await publisher.close();
  redis.disconnect();
  await api.close();
});

const publishCorrupt = () => publishBody(publisher, project, corrupt, { coding: 'gzip', spans: 3 });

describe('listQuarantinedBodies', () => {
  test('200: a body that cannot be decoded is listed with its reason and what it was sent as', async () => {
    const id = await publishCorrupt();
    expect(await untilQuarantined(api, id)).toEqual({
      id,
      project_id: project.id,
      reason: expect.stringContaining('cannot be decoded'),
      attempts: 1,
      content_type: 'application/x-protobuf',
      content_encoding: 'gzip',
      body_bytes: corrupt.length,
      spans: 3,
      received_at: expect.any(String),
      quarantined_at: expect.any(String),
      replayed_at: null,
    });
  });

  test('200: a walk in small pages gives every entry once, newest first', async () => {
    const ids = await Promise.all(Array.from({ length: 7 }, publishCorrupt));
    for (const id of ids) await untilQuarantined(api, id);
    const walked = await listQuarantine(api, 2);
    expect(new Set(walked.map(({ id }) => id)).size).toBe(walked.length);
    expect(walked.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    const times = walked.map(({ quarantined_at }) => quarantined_at);
    expect(times).toEqual(times.toSorted().reverse());
  });

  test('400: a cursor that was not issued, and an unknown parameter', async () => {
    const { adminApiKey: adminKey } = api.config;
    for (const cursor of ['', 'made-up']) {
      expectProblem(await api.call('listQuarantinedBodies', { query: { cursor }, adminKey }), 400, 'invalid_cursor');
    }
    const unknown = await api.call('listQuarantinedBodies', { query: { project: 'x' }, adminKey });
    expectProblem(unknown, 400, 'unknown_parameter');
  });
});

describe('getQuarantinedBody', () => {
  test('200: the bytes are those that were received', async () => {
    const id = await publishCorrupt();
    await untilQuarantined(api, id);
    const response = await fetch(`${api.url}/api/quarantine/${id}`, {
      headers: { 'X-Admin-Key': api.config.adminApiKey },
    });
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(corrupt);
  });

  test('404: a body that is not there', async () => {
    const options = { params: { body_id: 'b_nothing' }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('getQuarantinedBody', options), 404, 'not_found');
  });
});

describe('replayQuarantinedBody', () => {
  test('202: a body that still cannot be decoded comes back, not as replayed', async () => {
    const id = await publishCorrupt();
    const first = await untilQuarantined(api, id);
    const replayed = await api.admin<QuarantinedWire>('replayQuarantinedBody', { params: { body_id: id } }, 202);
    expect(replayed).toMatchObject({ id, replayed_at: expect.any(String) });
    const back = await untilQuarantined(api, id, ({ quarantined_at }) => quarantined_at > first.quarantined_at);
    expect(back).toMatchObject({ reason: first.reason, received_at: first.received_at, replayed_at: null });
  });

  test('202: a body that can be decoded by now is stored as it was received', async () => {
    const span = aSpan({ name: 'late but there' });
    const id = await publishBody(publisher, project, encodeSpans('protobuf', [span]), { coding: 'gzip' });
    await untilQuarantined(api, id);
    // What mends a body in the field is a new version of the decoder; here the note of its coding is put right.
    await api.postgres.raw(
      `update quarantined_bodies set job = jsonb_set(job, '{coding}', '"identity"') where job_id = ?`,
      [id],
    );
    await api.admin('replayQuarantinedBody', { params: { body_id: id } }, 202);
    const execution = await untilStored(api, project, span.traceId);
    expect(execution.name).toBe('late but there');
    expect((await untilQuarantined(api, id)).replayed_at).not.toBeNull();
  });

  test('404: a body that is not there', async () => {
    const options = { params: { body_id: 'b_nothing' }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('replayQuarantinedBody', options), 404, 'not_found');
  });
});

describe.each(['listQuarantinedBodies', 'getQuarantinedBody', 'replayQuarantinedBody'])('%s', (operationId) => {
  test('401: without credentials', async () => {
    expectProblem(await api.call(operationId, { params: { body_id: 'x' } }), 401, 'credentials_required');
  });
  test('403: with an API key, though the body be of its project', async () => {
    const answer = await api.call(operationId, { params: { body_id: 'x' }, key: project.key });
    expectProblem(answer, 403, 'admin_required');
  });
});

test('the page of the quarantine says its limit', async () => {
  const { page } = await api.admin<QuarantinePage>('listQuarantinedBodies', {}, 200);
  expect(page.limit).toBe(20);
});
