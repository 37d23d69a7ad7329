import { InvalidError } from '../../lib/errors.ts';
import { Pace, type Rest } from '../../lib/pace.ts';
import { type Fillable, fillVariables } from '../rendering/index.ts';
import type { WorkspaceThreads } from '../templates/index.ts';
import type { KeyedRow } from './split-rows.ts';
import { requireEnough, type UsableRows } from './usable-rows.ts';

/**
 * Leaves out rows that the input schema refuses, because no candidate could be rendered with them.
 * @throws InvalidError `insufficient_data`, and the errors of busy threads
 */
export async function validRows(
  threads: WorkspaceThreads,
  compiled: Fillable,
  given: readonly KeyedRow[],
  rest: Rest,
): Promise<UsableRows> {
  if (compiled.content.inputSchema === null) return { rows: [...given], dropped: 0, warnings: [] };
  const placeholders = Object.fromEntries(compiled.placeholders.map((name) => [name, []]));
  const rows: KeyedRow[] = [];
  const pace = new Pace(rest);
  let refusal: InvalidError | undefined;
  for (const row of given) {
    // Most schemas are checked here and not in a thread, so no check gives other work a turn.
    await pace.rest();
    try {
      await fillVariables(threads, compiled, { variables: row.inputs, placeholders, onMissing: 'error' });
      rows.push(row);
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error;
      refusal ??= error;
    }
  }
  if (refusal === undefined) return { rows, dropped: 0, warnings: [] };
  const dropped = given.length - rows.length;
  requireEnough(rows.length, `, without ${dropped} that the input schema of the prompt refuses. ${refusal.message}`);
  const message = `${dropped} rows do not match the input schema of the prompt and are not used. ${refusal.message}`;
  return { rows, dropped, warnings: [{ code: 'invalid_rows', message }] };
}
