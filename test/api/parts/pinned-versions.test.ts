import { beforeAll, describe, expect, test, vi } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

// Refusing the new slug takes the five seconds that the check may take.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
const it = usePromptApi();

const versions = 15_000;

/** A part with very many versions, and a prompt with a tag for each under the slug `named`. */
async function withPinned(named: string, slug = named): Promise<WireItem> {
  const part = await it.newPart({ slug, labels: ['live'] });
  await it.api.postgres.raw(
    `insert into part_versions (project_id, part_id, version, template, template_format, kind, content_hash, author_type)
     select project_id, part_id, n, template, template_format, kind, content_hash, author_type
     from part_versions, generate_series(2, ?) n where part_id = ? and version = 1`,
    [versions, part.id],
  );
  await it.api.postgres('parts').where({ id: part.id }).update({ latest_version: versions });
  const prompt = await it.newPrompt();
  await it.api.postgres.raw(
    `insert into part_uses (project_id, user_kind, user_id, user_version, slug, pin)
     select project_id, 'prompt', id, 1, ?, n from prompts, generate_series(1, ?) n where id = ?`,
    [named, versions, prompt.id],
  );
  return part;
}

describe('a part of which tags name very many versions', () => {
  let part: WireItem;
  beforeAll(async () => {
    part = await withPinned('many');
  });

  test('gets another description, and a label moves, without a look at each of them', async () => {
    const startedAtMs = performance.now();
    await it.ok('updatePart', part.id, { body: { description: 'changed' } });
    await it.ok('putPartLabel', part.id, { params: { label: 'live' }, body: { version: 2 } });
    // All of them take minutes.
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  });
});

test('a slug under which tags name very many versions is refused after the time for the check', async () => {
  const part = await withPinned('later', 'sooner');
  const answer = await it.call('updatePart', part.id, { body: { slug: 'later' } });
  expect(expectProblem(answer, 422, 'template_limit').detail).toMatch(/takes longer than 5 s/);
});
