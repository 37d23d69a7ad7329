import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pruneChanges } from '../../../src/stores/postgres/change-reader.ts';
import { startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

test('very many old changes are deleted, and the new ones stay', async () => {
  const topic = `of_the_test_${randomUUID()}`;
  const own = () => api.postgres('changes').where({ topic });
  await api.postgres.raw(
    `insert into changes (topic, subject_id, at)
     select :topic, n::text, now() - case when n <= 20001 then interval '1 day' else interval '0' end
     from generate_series(1, 20003) as n`,
    { topic },
  );
  await pruneChanges(api.postgres);
  expect((await own().orderBy('subject_id').select('subject_id')).map((row) => row.subject_id)).toEqual([
    '20002',
    '20003',
  ]);
});
