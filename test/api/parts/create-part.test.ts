import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();
const create = (body: unknown) => it.call<WireItem>('createPart', '', { body });

describe('201', () => {
  test('a part is answered with its version 1', async () => {
    const body = {
      name: 'Tone',
      slug: 'tone',
      description: 'How',
      tags: ['x'],
      template: 'in a {{tone}} tone',
      labels: ['a'],
    };
    const answer = await create(body);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toMatchObject({
      ...body,
      id: expect.stringMatching(/^prt_/),
      version: 1,
      template_format: 'mustache',
    });
    expect(await it.ok('getPart', 'tone')).toEqual(answer.body);
  });
  test('it may include a part that is not there yet', async () => {
    expect((await create({ name: 'x', template: '{{> not-there-yet}}' })).status).toBe(201);
  });
  test('a prompt and a part may have the same slug', async () => {
    const { slug } = await it.newPrompt();
    expect((await create({ name: 'x', slug, template: 'x' })).status).toBe(201);
  });
});

describe('409', () => {
  test('a slug is taken once', async () => {
    const { slug } = await it.newPart();
    expectProblem(await create({ name: 'x', slug, template: 'x' }), 409, 'slug_taken');
  });
});

describe('422', () => {
  test('a part that would complete a cycle is refused with the path', async () => {
    await create({ name: 'x', slug: 'ping', template: '{{> pong}}' });
    const problem = expectProblem(await create({ name: 'x', slug: 'pong', template: '{{> ping}}' }), 422, 'part_cycle');
    expect(problem.path).toEqual(['pong', 'ping', 'pong']);
    expectProblem(await it.call('getPart', 'pong'), 404, 'part_not_found');
  });
  test('a part that includes itself is a cycle', async () => {
    expectProblem(await create({ name: 'x', slug: 'self', template: '{{> self}}' }), 422, 'part_cycle');
  });
  test('parts nest to depth 10, and not to 11', async () => {
    await create({ name: 'x', slug: 'deep-1', template: 'x' });
    for (let depth = 2; depth <= 10; depth++) {
      const answer = await create({ name: 'x', slug: `deep-${depth}`, template: `{{> deep-${depth - 1}}}` });
      expect(answer.status, answer.text).toBe(201);
    }
    expectProblem(await create({ name: 'x', slug: 'deep-11', template: '{{> deep-10}}' }), 422, 'template_limit');
    await it.newPrompt({ template: '{{> deep-10}}' });
  });
  test('a template that does not parse is refused with where', async () => {
    const problem = expectProblem(await create({ name: 'x', template: 'a {{> }}' }), 422, 'invalid_template');
    expect(problem.errors).toEqual([expect.objectContaining({ line: 1, column: 3 })]);
  });
});
