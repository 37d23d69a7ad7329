import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();
const update = (called: string, body: unknown, options = {}) =>
  it.call<WireItem>('updatePart', called, { body, ...options });

describe('200', () => {
  test('a changed template is a version, the same one and metadata are none', async () => {
    const { id } = await it.newPart();
    expect((await update(id, { template: 'two' })).body).toMatchObject({ created_version: true, version: 2 });
    expect((await update(id, { template: 'two', name: 'N' })).body).toMatchObject({
      created_version: false,
      name: 'N',
    });
  });
  test('a pinned version does not make a cycle, the newest does', async () => {
    const { slug: a } = await it.newPart({ template: 'plain' });
    const { slug: b } = await it.newPart({ template: `{{> ${a}@1}}` });
    expect((await update(a, { template: `{{> ${b}}}` })).status).toBe(200);
    expectProblem(await update(b, { template: `{{> ${a}}}` }), 422, 'part_cycle');
  });
});

test('a new slug with a new version: a tag that names an old version under this slug may complete a cycle', async () => {
  const { id, slug } = await it.newPart({ template: 'plain' });
  const later = `${slug}-later`;
  const { slug: other } = await it.newPart({ template: `{{> ${later}@2}}` });
  await update(id, { template: `{{> ${other}}}` });
  expectProblem(await update(id, { template: 'plain again', slug: later }), 422, 'part_cycle');
});

describe('409', () => {
  test('an old base_version is refused', async () => {
    const { id } = await it.newPart();
    await update(id, { template: 'two' });
    expectProblem(await update(id, { template: 'x', base_version: 1 }), 409, 'version_conflict');
  });
  test('a part in use keeps its slug', async () => {
    const { id, slug } = await it.newPart();
    await it.newPrompt({ template: `{{> ${slug}}}` });
    expectProblem(await update(id, { slug: 'another-slug' }), 409, 'part_in_use');
  });
});

describe('412', () => {
  test('a stale entity tag is refused', async () => {
    const { id } = await it.newPart();
    expectProblem(await update(id, { name: 'x' }, { headers: { 'If-Match': '"x"' } }), 412, 'precondition_failed');
  });
});

describe('422', () => {
  test('two updates at once cannot make a cycle together', async () => {
    const [{ slug: a }, { slug: b }] = [await it.newPart(), await it.newPart()];
    const answers = await Promise.all([update(a, { template: `{{> ${b}}}` }), update(b, { template: `{{> ${a}}}` })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  });
  test('a label that would complete a cycle stays where it is', async () => {
    const { slug: a } = await it.newPart({ labels: ['live'] });
    const { slug: b } = await it.newPart({ template: `{{> ${a}@live}}` });
    await update(a, { template: `{{> ${b}}}` });
    const move = await it.call('putPartLabel', a, { params: { label: 'live' }, body: { version: 2 } });
    expectProblem(move, 422, 'part_cycle');
    expect((await it.ok('getPart', a)).all_labels).toEqual([expect.objectContaining({ label: 'live', version: 1 })]);
  });
  test('a part at the bottom of ten levels cannot get one below it, until nothing in force has it there', async () => {
    const { slug: bottom } = await it.newPart();
    let above = bottom;
    for (let level = 2; level <= 10; level++) above = (await it.newPart({ template: `{{> ${above}}}` })).slug;
    const { slug: another } = await it.newPart();
    const refused = await update(bottom, { template: `{{> ${another}}}` });
    expectProblem(refused, 422, 'template_limit');
    expect(refused.text).toContain(`${bottom} would have 2 levels, and the parts that include it have 9 more`);
    await update(above, { template: 'short' });
    expect((await update(bottom, { template: `{{> ${another}}}` })).status).toBe(200);
  });
  test('levels above count through a version that only a prompt still names', async () => {
    const { slug: bottom } = await it.newPart();
    let above = bottom;
    for (let level = 2; level <= 10; level++) above = (await it.newPart({ template: `{{> ${above}}}` })).slug;
    const prompt = await it.newPrompt({ template: `{{> ${above}@1}}` });
    await update(above, { template: 'short' });
    const { slug: another } = await it.newPart();
    expectProblem(await update(bottom, { template: `{{> ${another}}}` }), 422, 'template_limit');
    await it.ok('updatePrompt', prompt.id, { body: { template: 'none' } });
    expect((await update(bottom, { template: `{{> ${another}}}` })).status).toBe(200);
  });
  test('a rollback that would complete a cycle is refused', async () => {
    const { slug: b } = await it.newPart({ template: 'x' });
    const { slug: a } = await it.newPart({ template: `{{> ${b}}}` });
    await update(a, { template: 'x' });
    await update(b, { template: `{{> ${a}}}` });
    expectProblem(await it.call('rollbackPart', a, { body: { version: 1 } }), 422, 'part_cycle');
  });
});
