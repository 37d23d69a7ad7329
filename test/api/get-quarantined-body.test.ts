import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem } from '../support/api.ts';
import {
  corruptBody,
  expectOperatorsOnly,
  type QuarantineTest,
  startQuarantineTest,
  untilQuarantined,
} from '../support/quarantine.ts';

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
