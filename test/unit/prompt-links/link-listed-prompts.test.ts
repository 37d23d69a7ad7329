import { describe, expect, test } from 'vitest';
import type { PromptRef } from '../../../src/domains/prompt-links/index.ts';
import { KnownPrompts, linkListedPrompts, promptMention } from '../../../src/domains/prompt-links/index.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

/** A project that knows `a` and `b`, and remembers what it was asked. */
function project() {
  const asked: string[][] = [];
  const find = async (_projectId: string, wanted: readonly string[]) => {
    asked.push([...wanted]);
    const slugs = wanted.filter((each) => each === 'a' || each === 'b');
    return new Map(slugs.map((slug) => [slug, { id: `prm_${slug}`, slug, versions: [] }]));
  };
  return { asked, known: new KnownPrompts({ find, unknownMs: 2_000, askedMax: 200, logger }).of('w') };
}

function named(name: string, others: string[] = []): PromptRef {
  const version = name.charCodeAt(0);
  const ref = { id: '', name, version, rawVersion: `${version}`, source: 'self' };
  return others.length === 0 ? ref : { ...ref, others: others.map((each) => named(each)) };
}

/** Rows as they are after their first mentions were looked up. */
function row(promptRef: PromptRef | null, id = '') {
  const prompt = promptMention(promptRef);
  return { prompt: prompt === null ? null : { ...prompt, id }, normalized: { promptRef } };
}

describe('spans that list several prompts', () => {
  test('have the first that is known, with its own version, each row its own', async () => {
    const { known, asked } = project();
    const rows = [row(named('x', ['y', 'b', 'a'])), row(null), row(named('y')), row(named('z', ['a', 'b']))];
    const linked = await linkListedPrompts(known, 'p', rows);
    expect(linked.map(({ prompt }) => prompt)).toEqual([
      { id: 'prm_b', name: 'b', key: '', version: 98, rawVersion: '98', source: 'self' },
      null,
      rows[2]?.prompt,
      { id: 'prm_a', name: 'a', key: '', version: 97, rawVersion: '97', source: 'self' },
    ]);
    expect(asked).toEqual([['y', 'b', 'a']]);
  });

  test('none of which is known keep the first', async () => {
    const rows = [row(named('x', ['y', 'z']))];
    expect(await linkListedPrompts(project().known, 'p', rows)).toEqual(rows);
  });

  test('more than one question may name are linked up to there, and what is no name is not asked', async () => {
    const questions: ReadonlySet<string>[] = [];
    const find = async (_projectId: string, wanted: ReadonlySet<string>) => {
      questions.push(wanted);
      return new Map([...wanted].map((slug) => [slug, { id: `prm_${slug}`, slug, versions: [] }]));
    };
    const names = (index: number) => Array.from({ length: 31 }, (_, other) => `${index}-${other}`);
    const rows = Array.from({ length: 1_000 }, (_, index) => row(named('x', ['y'.repeat(201), '', ...names(index)])));
    const linked = await linkListedPrompts({ find }, 'p', rows);
    expect(questions.map(({ size }) => size)).toEqual([2_000]);
    expect(linked[0]?.prompt?.id).toBe('prm_0-0');
    expect(linked.at(-1)).toBe(rows.at(-1));
  });

  test('the first of which is known already, or that are none, ask nothing and are the rows themselves', async () => {
    const { known, asked } = project();
    const rows = [row(named('a', ['b']), 'prm_a'), row(named('x')), row(null)];
    expect(await linkListedPrompts(known, 'p', rows)).toBe(rows);
    expect(asked).toEqual([]);
  });
});
