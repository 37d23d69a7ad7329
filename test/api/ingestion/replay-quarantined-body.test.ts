import { Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertQuarantinedBody } from '../../../src/domains/ingestion/quarantine/quarantine-store.ts';
import { createBodyPublisher } from '../../../src/queue/body-publisher.ts';
import { jobCatalog } from '../../../src/queue/job-catalog.ts';
import { connectWorkerRedis } from '../../../src/stores/redis/client.ts';
import { queuePrefix } from '../../../src/stores/redis/names.ts';
import { expectProblem, newProject, startApi, type TestApi } from '../../support/api.ts';
import { encodeSpans } from '../../support/otlp-encode.ts';
import { ownRedisUrl } from '../../support/own-redis.ts';
import {
  corruptBody,
  expectOperatorsOnly,
  payloadOf,
  publishBody,
  type QuarantinedWire,
  type QuarantineTest,
  startQuarantineTest,
  untilQuarantined,
} from '../../support/quarantine.ts';
import { aSpan } from '../../support/spans.ts';
import { untilStored } from '../../support/traces.ts';
import { until } from '../../support/until.ts';
import { latestAudit } from '../../support/users.ts';

let quarantine: QuarantineTest;

beforeAll(async () => {
  quarantine = await startQuarantineTest();
});
afterAll(() => quarantine.close());

/** Replays a body; right after it was put aside its worker may still be busy with it, which is 409. */
function untilReplayed(api: TestApi, id: string): Promise<QuarantinedWire> {
  return until(`replay of ${id}`, 30_000, async () => {
    const options = { params: { body_id: id }, adminKey: api.config.adminApiKey };
    const answer = await api.call<QuarantinedWire>('replayQuarantinedBody', options);
    expect([202, 409], answer.text).toContain(answer.status);
    return answer.status === 202 && answer.body;
  });
}

describe('202', () => {
  test('a body that still cannot be decoded comes back, not as replayed', async () => {
    const { api, publishCorrupt } = quarantine;
    const id = await publishCorrupt();
    const first = await untilQuarantined(api, id);
    const replayed = await untilReplayed(api, id);
    expect(replayed).toMatchObject({ id, replayed_at: expect.any(String) });
    const audited = await latestAudit(api, quarantine.project.workspaceId);
    expect(audited).toMatchObject({ actor_type: 'admin', action: 'quarantined_body.replayed', target_id: id });
    const back = await untilQuarantined(api, id, ({ quarantined_at }) => quarantined_at > first.quarantined_at);
    expect(back).toMatchObject({ reason: first.reason, received_at: first.received_at, replayed_at: null });
  });

  test('a body that can be decoded by now is stored and noted as replayed', async () => {
    const { api, project, publisher } = quarantine;
    const span = aSpan({ name: 'late but there' });
    const id = await publishBody(publisher, project, encodeSpans('protobuf', [span]), { coding: 'gzip' });
    await untilQuarantined(api, id);
    // What mends a body in the field is a new version of the decoder; here the note of its coding is put right.
    await api.postgres.raw(
      `update quarantined_bodies set job = jsonb_set(job, '{coding}', '"identity"') where job_id = ?`,
      [id],
    );
    await untilReplayed(api, id);
    expect((await untilStored(api, project, span.traceId)).name).toBe('late but there');
    expect((await untilQuarantined(api, id)).replayed_at).not.toBeNull();
  });
});

describe('404', () => {
  test('a body that is not there is unknown', async () => {
    const { api } = quarantine;
    const options = { params: { body_id: 'b_nothing' }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('replayQuarantinedBody', options), 404, 'not_found');
  });
});

describe('409', () => {
  test('a body whose job a worker still has is not replayed, and not noted as if it were', async () => {
    // A database of Redis without any worker of the product's, so that the job can be held here.
    const redisUrl = ownRedisUrl(8);
    const api = await startApi({ redisUrl });
    const project = await newProject(api);
    const connection = connectWorkerRedis(redisUrl);
    const publisher = createBodyPublisher(connection);
    const { queue } = jobCatalog.ingestBody;
    const holder = new Worker(queue, null, { connection, prefix: queuePrefix(queue) });
    const job = payloadOf(project, corruptBody);
    const id = await publishBody(publisher, project, corruptBody);
    const held = await holder.getNextJob('a token');
    expect(held?.id).toBe(id);
    await insertQuarantinedBody(api.postgres, { jobId: id, job, reason: 'held', attempts: 1, body: corruptBody });

    const options = { params: { body_id: id }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('replayQuarantinedBody', options), 409, 'conflict');
    expect((await untilQuarantined(api, id)).replayed_at).toBeNull();

    await held?.moveToCompleted('quarantined', 'a token', false);
    expect((await api.call('replayQuarantinedBody', options)).status).toBe(202);
    await holder.close();
    await publisher.close();
    connection.disconnect();
    await api.close();
  });
});

describe('401 and 403', () => {
  test('it is for operators only', async () => {
    await expectOperatorsOnly(quarantine, 'replayQuarantinedBody');
  });
});
