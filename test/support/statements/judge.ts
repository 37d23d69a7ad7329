import { type Exception, exceptions, type Heard, tenantTables } from './rules.ts';

/** A statement that violates the rule, and how many similar statements there were. */
export interface Breach {
  engine: Heard['engine'];
  tables: readonly string[];
  text: string;
  times: number;
}

const tenantId = /\b(?:prj|wsp)_\w{4,}/;

/**
 * Finds statements that use a table of tenants although no bound value is the id of a tenant. Such
 * a statement can return rows of other tenants.
 */
export async function judge(
  statements: AsyncIterable<Heard> | Iterable<Heard>,
  excused: readonly Exception[] = exceptions,
): Promise<Breach[]> {
  const breaches = new Map<string, Breach>();
  for await (const { engine, text, values } of statements) {
    if (tenantId.test(values)) continue;
    const tables = touchedTables(engine, text);
    if (tables.length === 0) continue;
    if (excused.some((exception) => exception.engine === engine && exception.statement.test(text))) continue;
    const before = breaches.get(text);
    breaches.set(text, { engine, tables, text, times: (before?.times ?? 0) + 1 });
  }
  return [...breaches.values()];
}

/** Describes each statement and the violated rule as text. */
export function describeBreaches(breaches: readonly Breach[]): string {
  const each = breaches.map(
    ({ engine, tables, text, times }) =>
      `  ${engine}, ${times} times, touches ${tables.join(', ')}:\n    ${text.slice(0, 600)}`,
  );
  return [
    'These statements touch tables of tenants without the id of a project or workspace among their bound values.',
    'Bind it, or give the reason in test/support/statements/rules.ts:',
    ...each,
  ].join('\n');
}

function touchedTables(engine: Heard['engine'], text: string): string[] {
  return tenantTables[engine].filter((table) => mention(table).test(text));
}

/** Matches the table after a word that precedes a table. A schema may be between them. */
function mention(table: string): RegExp {
  return new RegExp(`\\b(?:from|join|into|update|only|table)\\s+(?:"?\\w+"?\\.)?["\`]?${table}["\`]?(?![\\w"])`, 'i');
}
