import { type PromptFinder, resolvePromptRefs } from '../prompt-links/index.ts';
import { type TopRows, topsMax } from './stats-queries.ts';

type CallRow = TopRows['calls'];

/**
 * Returns the ten most frequent prompts and models. Rows of one prompt become one, also of calls that were stored
 * before it existed, under a name that it has today. Never rejects: while Postgres is unavailable, names stay rows of
 * their own.
 */
export async function topCalls(known: PromptFinder, projectId: string, rows: readonly CallRow[]): Promise<CallRow[]> {
  const mentions = rows
    .filter(({ isPrompt }) => isPrompt === 1)
    .map((row) => ({ ...row, id: row.promptId, name: row.promptName, version: 0, key: '' }));
  const merged = new Map<string, CallRow>();
  for (const { id, name, version: _, key: __, ...row } of await resolvePromptRefs(known, projectId, mentions)) {
    const place = id === '' ? `name ${name}` : `id ${id}`;
    const before = merged.get(place);
    merged.set(place, before === undefined ? { ...row, promptId: id, promptName: name } : sumOf(before, row));
  }
  const prompts = [...merged.values()].toSorted((a, b) => b.callCount - a.callCount);
  const models = rows.filter(({ isPrompt }) => isPrompt === 0);
  return [...prompts.slice(0, topsMax), ...models.slice(0, topsMax)];
}

function sumOf(row: CallRow, more: CallRow): CallRow {
  return {
    ...row,
    callCount: row.callCount + more.callCount,
    totalTokens: row.totalTokens + more.totalTokens,
    cost: String(BigInt(row.cost) + BigInt(more.cost)),
    failed: row.failed + more.failed,
  };
}
