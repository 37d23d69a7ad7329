import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { statusByKind } from '../../../src/http/problem.ts';
import { listProblemCodes } from '../../../src/lib/problem-codes.ts';

const root = join(import.meta.dirname, '../../..');
/** Where codes are listed for the document rather than given to a caller. */
const listsOnly = [
  'src/lib/problem-codes.ts',
  'src/lib/errors.ts',
  'src/http/openapi/problems.ts',
  'src/domains/ingestion/otlp-document.ts',
];

/** Sources of the product, without comments and without the codes that contracts only list. */
const sources = ['src', 'workers']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => name.endsWith('.ts') && !listsOnly.includes(name))
  .map((name) => readFileSync(join(root, name), 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$|problems: \[[^\]]*\]/gm, ''))
  .join('\n');

/** Codes of the interface that belong to what is not built yet. */
const reserved = new Set([
  'budget_exceeded',
  'forbidden',
  'invalid_filter',
  'invalid_signature',
  'invalid_template',
  'invalid_variables',
  'label_not_found',
  'last_owner',
  'member_not_found',
  'missing_variables',
  'part_cycle',
  'part_in_use',
  'part_not_found',
  'prompt_not_found',
  'provider_not_found',
  'quota_exceeded',
  'rate_limited',
  'run_not_found',
  'slug_taken',
  'template_limit',
  'unknown_filter_field',
  'unknown_part',
  'version_conflict',
  'version_not_found',
  'webhook_not_found',
]);

describe('the registry of problem codes', () => {
  const codes = listProblemCodes();

  test('has no code that nobody gives and nothing reserves', () => {
    const unused = codes.map(({ code }) => code).filter((code) => !sources.includes(`'${code}'`));
    expect(unused.filter((code) => !reserved.has(code))).toEqual([]);
  });

  test('knows every code that an error is made with', () => {
    const known = new Set<string>(codes.map(({ code }) => code));
    const given = [...sources.matchAll(/new \w+Error\(\s*'([a-z_]+)'/g)].map((match) => match[1] ?? '');
    expect(given.length).toBeGreaterThan(20);
    expect(given.filter((code) => !known.has(code))).toEqual([]);
  });

  test('reserves only what it has', () => {
    expect([...reserved].filter((code) => !codes.some((entry) => entry.code === code))).toEqual([]);
  });

  test('has a title for every code, one of its own, and a status for every kind', () => {
    expect(new Set(codes.map(({ title }) => title)).size).toBe(codes.length);
    for (const { kind, title } of codes) {
      expect(title).toMatch(/^[A-Z].+[^.]$/);
      expect(statusByKind[kind]).toBeGreaterThanOrEqual(400);
    }
  });
});
