import type { Postgres } from '../../stores/postgres/client.ts';
import type { Run, RunWarning } from './run.ts';
import { countHoldoutUses } from './run-store.ts';

/** From this use on, a holdout says less and less. */
const usesMax = 5;

/** Returns a warning if runs of a prompt have used a holdout often. Without an id, there is no holdout. */
export async function warnOfHoldoutUses(
  postgres: Postgres,
  key: Pick<Run, 'projectId' | 'promptId'>,
  holdoutId: string | null,
): Promise<RunWarning[]> {
  if (holdoutId === null) return [];
  const uses = 1 + (await countHoldoutUses(postgres, key, holdoutId));
  if (uses < usesMax) return [];
  const message = `This is use ${uses} of the same holdout. Its result becomes optimistic; add new rows.`;
  return [{ code: 'holdout_reused', message }];
}
