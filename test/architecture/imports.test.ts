import { describe, expect, test } from 'vitest';
import { breaches, importsOf } from './check.ts';
import { longFiles } from './rules.ts';
import { sources } from './sources.ts';

describe('the tree', () => {
  test('keeps every rule', () => {
    // The tests of the rules contain violations.
    expect(breaches(sources().filter(({ path }) => !path.startsWith('test/architecture/')))).toEqual([]);
  });
  test('is really read, and every excuse still has its file', () => {
    const paths = sources().map(({ path }) => path);
    expect(paths).toContain('src/http/app.ts');
    expect(paths).toEqual(expect.arrayContaining(Object.keys(longFiles)));
  });
});

describe('the check', () => {
  test.each<[string, string, string, RegExp]>([
    ['lib importing telemetry', 'src/lib/x.ts', "import { a } from '../telemetry/logger.ts';", /lib imports telemetry/],
    ['http importing stores', 'src/http/x.ts', "import { a } from '../stores/redis/a.ts';", /http imports stores/],
    [
      'http importing a domain',
      'src/http/x.ts',
      "export { a } from '../domains/auth/index.ts';",
      /http imports domains/,
    ],
    ['a worker importing http', 'workers/x.ts', "import type { A } from '../src/http/app.ts';", /workers imports http/],
    ['src importing dev', 'src/main.ts', "import '../dev/up.ts';", /imports dev\/up\.ts/],
    ['src importing test, lazily', 'src/main.ts', "const x = await import('../test/support/x.ts');", /imports test/],
    [
      'an import over several lines',
      'src/lib/x.ts',
      "import {\n  a,\n  b,\n} from '../http/app.ts';",
      /lib imports http/,
    ],
    ['a later domain', 'src/domains/auth/x.ts', "import { a } from '../prompts/index.ts';", /comes after it/],
    ['the inside of a domain', 'src/domains/prompts/x.ts', "import { a } from '../auth/jwt.ts';", /use its index/],
    [
      'the inside of a domain from a worker',
      'workers/x.ts',
      "import { a } from '../src/domains/auth/jwt.ts';",
      /use its index/,
    ],
    ['an index with endpoints', 'src/domains/auth/index.ts', "export { a } from './a.routes.ts';", /imports endpoints/],
    [
      'endpoints of another domain',
      'src/domains/prompts/x.ts',
      "import { a } from '../auth/a.routes.ts';",
      /imports endpoints/,
    ],
    ['jobs outside a worker', 'src/api/x.ts', "import { a } from '../domains/auth/jobs.ts';", /use its index/],
    ['an unlisted domain', 'src/domains/novel/x.ts', 'export const a = 1;', /not in the order/],
    ['express in a verb', 'src/domains/auth/log-in.ts', "import type { Request } from 'express';", /imports express/],
    ['knex outside a store', 'src/domains/auth/log-in.ts', "import { knex } from 'knex';", /imports knex/],
    ['a subpath of a package', 'src/domains/auth/log-in.ts', "import x from 'pg/lib/client';", /imports pg/],
    ['a scoped package', 'workers/x.ts', "import { createClient } from '@clickhouse/client';", /imports @clickhouse/],
    [
      'the rows of spans',
      'src/domains/executions/a-queries.ts',
      'const a = `SELECT 1 FROM spans`;',
      /names the table spans/,
    ],
    [
      'an insert of spans',
      'src/domains/ingestion/a.ts',
      "insertBlock(c, { table: 'spans', block });",
      /names the table spans/,
    ],
    ['the environment', 'src/http/x.ts', 'const a = process.env.PORT;', /process\.env/],
    ['a read past readRows', 'src/domains/spans/x-queries.ts', 'await clickhouse.query({ query });', /use readRows/],
    ['a typed read past readRows', 'workers/x.ts', 'await deps.slow.query<"JSON">({ query });', /use readRows/],
    ['a statement past runStatement', 'workers/x.ts', 'await slowClickhouse.command({ query });', /use runStatement/],
    [
      'an insert past insertBlock',
      'src/domains/spans/x.ts',
      'await deps.clickhouse.exec({ query });',
      /use insertBlock/,
    ],
    ['a pool of its own', 'src/stores/x.ts', "const pool = knex({ client: 'pg' });", /use connectPostgres/],
    ['a client of its own', 'src/stores/clickhouse/x.ts', 'const c = createClient({ url });', /use connectClickHouse/],
    ['a call site that recognizes', 'src/domains/auth/x.ts', 'throw recognizePostgresError(e);', /clients throw/],
    ['a default export', 'src/lib/x.ts', 'export default 1;', /default export/],
    ['a service', 'src/lib/x.ts', 'export class PromptService {}', /PromptService/],
    ['a wide index', 'src/domains/auth/index.ts', 'export const a = 1;\n'.repeat(21), /21 lines/],
    ['a long file', 'src/lib/x.ts', 'export const a = 1;\n'.repeat(251), /251 lines/],
  ])('finds %s', (_what, path, text, expected) => {
    expect(breaches([{ path, text }])).toEqual([expect.stringMatching(expected)]);
  });

  test.each<[string, string, string]>([
    ['a domain importing an earlier one', 'src/domains/prompts/x.ts', "import { a } from '../auth/index.ts';"],
    ['the list of endpoints', 'src/api/endpoints.ts', "import { a } from '../domains/auth/a.routes.ts';"],
    ['jobs in a worker', 'workers/x.ts', "import { a } from '../src/domains/auth/jobs.ts';"],
    ['express in routes', 'src/domains/auth/auth.routes.ts', "import type { Request } from 'express';"],
    ['knex in a store', 'src/domains/auth/user-store.ts', "import type { Knex } from 'knex';"],
    ['a read beside readRows', 'src/stores/clickhouse/x.ts', 'await clickhouse.query({ query });'],
    ['any read in a test', 'test/unit/x.test.ts', 'await clickhouse.query({ query });'],
    ['an insert into Postgres', 'src/domains/auth/x-store.ts', "await postgres('users').insert({ id });"],
    ['a test reaching inside', 'test/unit/x.test.ts', "import { a } from '../../src/domains/auth/jwt.ts';"],
    ['the environment in dev', 'dev/x.ts', 'const a = process.env.PORT;'],
    ['a comment that only names a breach', 'src/lib/x.ts', "// import { a } from '../http/app.ts'; process.env.X"],
  ])('allows %s', (_what, path, text) => {
    expect(breaches([{ path, text }])).toEqual([]);
  });

  test('reads every form of import', () => {
    const text = "import a from 'a';\nimport 'b';\nexport * from 'c';\nimport type { D } from 'd';\nawait import('e');";
    expect(
      importsOf(text)
        .map(({ module }) => module)
        .sort(),
    ).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(importsOf(text).filter(({ isType }) => isType)).toEqual([{ module: 'd', isType: true, isLazy: false }]);
    expect(importsOf(text).filter(({ isLazy }) => isLazy)).toEqual([{ module: 'e', isType: false, isLazy: true }]);
  });
});
