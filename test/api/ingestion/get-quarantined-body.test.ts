import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import {
  corruptBody,
  expectOperatorsOnly,
  type QuarantineTest,
  startQuarantineTest,
  untilQuarantined,
} from '../../support/quarantine.ts';
import { latestAudit } from '../../support/users.ts';

let quarantine: QuarantineTest;

beforeAll(async () => {
  quarantine = await startQuarantineTest();
});
afterAll(() => quarantine.close());

describe('200', () => {
  test('the bytes are those that were received', async () => {
    const { api, publishCorrupt } = quarantine;
    const id = await publishCorrupt();
    await untilQuarantined(api, id);
    const response = await fetch(`${api.url}/api/quarantine/${id}`, {
      headers: { 'X-Admin-Key': api.config.adminApiKey },
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(corruptBody);
  });
});

test('that an operator read it is in the audit log of the workspace', async () => {
  const { api, project, publishCorrupt } = quarantine;
  const id = await publishCorrupt();
  await untilQuarantined(api, id);
  expect(await latestAudit(api, project.workspaceId)).not.toMatchObject({ target_id: id });
  const answer = await api.call('getQuarantinedBody', { params: { body_id: id }, adminKey: api.config.adminApiKey });
  expect(await latestAudit(api, project.workspaceId)).toEqual({
    actor_type: 'admin',
    actor_id: null,
    action: 'quarantined_body.read',
    target_id: id,
    details: { project_id: project.id, body_bytes: expect.any(Number) },
    request_id: answer.headers.get('x-request-id'),
  });
});

describe('404', () => {
  test('a body that is not there is unknown', async () => {
    const { api } = quarantine;
    const options = { params: { body_id: 'b_nothing' }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('getQuarantinedBody', options), 404, 'not_found');
  });
});

describe('401 and 403', () => {
  test('it is for operators only', async () => {
    await expectOperatorsOnly(quarantine, 'getQuarantinedBody');
  });
});
