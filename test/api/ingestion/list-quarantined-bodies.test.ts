import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pruneQuarantine } from '../../../src/domains/ingestion/jobs.ts';
import { expectProblem } from '../../support/api.ts';
import {
  corruptBody,
  expectOperatorsOnly,
  listQuarantine,
  type QuarantinePage,
  type QuarantineTest,
  startQuarantineTest,
  untilQuarantined,
} from '../../support/quarantine.ts';

let quarantine: QuarantineTest;

beforeAll(async () => {
  quarantine = await startQuarantineTest();
});
afterAll(() => quarantine.close());

describe('200', () => {
  test('a body that cannot be decoded is listed with its reason and what it was sent as', async () => {
    const { api, project, publishCorrupt } = quarantine;
    const id = await publishCorrupt();
    expect(await untilQuarantined(api, id)).toEqual({
      id,
      project_id: project.id,
      reason: expect.stringContaining('cannot be decoded'),
      attempts: 1,
      content_type: 'application/x-protobuf',
      content_encoding: 'gzip',
      body_bytes: corruptBody.length,
      spans: 3,
      received_at: expect.any(String),
      quarantined_at: expect.any(String),
      replayed_at: null,
    });
  });

  test('a walk in small pages gives every entry once, newest first', async () => {
    const { api, publishCorrupt } = quarantine;
    const ids = await Promise.all(Array.from({ length: 7 }, publishCorrupt));
    for (const id of ids) await untilQuarantined(api, id);
    const walked = await listQuarantine(api, 2);
    expect(new Set(walked.map(({ id }) => id)).size).toBe(walked.length);
    expect(walked.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    const times = walked.map(({ quarantined_at }) => quarantined_at);
    expect(times).toEqual(times.toSorted().reverse());
  });

  test('a body is kept for 30 days', async () => {
    const { api, publishCorrupt } = quarantine;
    const [old = '', recent = ''] = await Promise.all([publishCorrupt(), publishCorrupt()]);
    for (const id of [old, recent]) await untilQuarantined(api, id);
    const age = (id: string, days: number) =>
      api
        .postgres('quarantined_bodies')
        .where({ job_id: id })
        .update({ quarantined_at: new Date(Date.now() - days * 86_400_000) });
    await age(old, 30.1);
    await age(recent, 29.9);
    await pruneQuarantine(api);
    const ids = (await listQuarantine(api)).map(({ id }) => id);
    expect([ids.includes(old), ids.includes(recent)]).toEqual([false, true]);
  });

  test('without a limit a page has at most 20', async () => {
    const { page, data } = await quarantine.api.admin<QuarantinePage>('listQuarantinedBodies', {}, 200);
    expect(page.limit).toBe(20);
    expect(data.length).toBeLessThanOrEqual(20);
  });
});

describe('400', () => {
  test.each([
    [{ cursor: '' }, 'invalid_cursor'],
    [{ cursor: 'made-up' }, 'invalid_cursor'],
    [{ limit: 0 }, 'invalid_parameter'],
    [{ project: 'x' }, 'unknown_parameter'],
  ])('the query %j is refused', async (query, code) => {
    const { api } = quarantine;
    const answer = await api.call('listQuarantinedBodies', { query: { ...query }, adminKey: api.config.adminApiKey });
    expectProblem(answer, 400, code);
  });
});

describe('401 and 403', () => {
  test('it is for operators only', async () => {
    await expectOperatorsOnly(quarantine, 'listQuarantinedBodies');
  });
});
