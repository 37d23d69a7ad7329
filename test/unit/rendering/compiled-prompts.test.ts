import { expect, test } from 'vitest';
import type { PromptContent } from '../../../src/domains/prompts/index.ts';
import { CompiledPrompts } from '../../../src/domains/rendering/compiled-prompts.ts';
import { createPartSource, type PartsProject } from '../../../src/domains/rendering/load-parts.ts';
import { TemplateThreads } from '../../../src/domains/templates/index.ts';
import type { Item, ItemCache } from '../../../src/domains/versioned/index.ts';
import { newId } from '../../../src/lib/ids.ts';

const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
const prompt = { id: newId('prm'), projectId: project.projectId } as Item;

const whole = { type: 'text', template: 'Hi {{who}}', templateFormat: 'mustache', config: null, inputSchema: null };

const noThreads = { of: (workspaceId: string) => ({ workspaceId }) } as unknown as TemplateThreads;

function compiledPrompts(read: () => Promise<object>, threads = noThreads): CompiledPrompts {
  const source = createPartSource({ parts: { find: async () => undefined } as never, threads });
  const readVersion = async () => ({ content: await read() });
  return new CompiledPrompts({ readVersion } as unknown as ItemCache<PromptContent>, source);
}

/**
 * Compiles so many versions of this content, and then the first again, which may be that of another workspace. Returns
 * how many versions were read.
 */
async function readsOf(content: Partial<PromptContent>, count: number, first: PartsProject = project): Promise<number> {
  let reads = 0;
  const compiled = compiledPrompts(async () => {
    reads++;
    return { ...whole, ...content };
  });
  await compiled.find(first, prompt, 1);
  for (let number = 2; number <= count; number++) await compiled.find(project, prompt, number);
  await compiled.find(first, prompt, 1);
  return reads;
}

const large = { description: 'x'.repeat(200_000) };
const ofManyValues = { list: Array.from({ length: 9_000 }, () => ({})) };

/** Required below 15 names of 200 characters. */
const ofLongPaths = Array.from({ length: 15 }).reduce<Record<string, unknown>>(
  (below) => ({ properties: { ['n'.repeat(200)]: below } }),
  { required: Array.from({ length: 1_000 }, (_, at) => `a${at}`) },
);

test('what comes during a compilation waits for one that begins later, and that is one for all', async () => {
  const reads: ((error: Error) => void)[] = [];
  const compiled = compiledPrompts(() =>
    reads.length > 0 ? Promise.resolve(whole) : new Promise((_resolve, reject) => reads.push(reject)),
  );
  const first = compiled.find(project, prompt, 1);
  const others = [compiled.find(project, prompt, 1), compiled.find(project, prompt, 1)];
  reads[0]?.(new Error('A part that is mended meanwhile'));
  await expect(first).rejects.toThrow('mended meanwhile');
  const [second, third] = await Promise.all(others);
  expect(second).toBe(third);
});

test('a stored version with a Liquid name that is too long is refused when it is compiled', async () => {
  const threads = new TemplateThreads();
  const stored = { ...whole, template: `{{ ${'A'.repeat(200_000)} }}`, templateFormat: 'liquid' };
  await expect(compiledPrompts(async () => stored, threads).find(project, prompt, 1)).rejects.toMatchObject({
    ...{ code: 'template_limit', budget: 'variables' },
  });
  await threads.close();
});

test('small compiled prompts are compiled once', async () => expect(await readsOf({}, 200)).toBe(200));

test('a workspace keeps its own while another one compiles ever new ones', async () => {
  const other = { projectId: newId('prj'), workspaceId: newId('wsp') };
  expect(await readsOf({ config: large }, 100, other)).toBe(100);
});

test.each<[string, Partial<PromptContent>]>([
  ['config', { config: large }],
  ['input schema', { inputSchema: large }],
  ['config of many values', { config: ofManyValues }],
  ['set of required paths', { inputSchema: ofLongPaths }],
])(
  'compiled prompts with a large %s have at most 32 MiB together, so the oldest are compiled again',
  async (_, content) => {
    expect(await readsOf(content, 100)).toBe(101);
  },
);
