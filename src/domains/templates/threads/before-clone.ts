import { hasAtMostValues } from '../../../lib/json-values.ts';
import { sharedThird } from '../../../lib/pace.ts';
import type { WorkspaceThreads } from './template-threads.ts';

/** Copying so many values to a thread takes about a millisecond of the event loop. */
const clonedValuesMax = 5_000;

/** Waits for the turn of the workspace if variables have so many values that copying them to a thread takes long. */
export async function beforeClone(
  { workspaceId }: Pick<WorkspaceThreads, 'workspaceId'>,
  variables: unknown,
): Promise<void> {
  if (!hasAtMostValues(variables, clonedValuesMax)) await sharedThird(workspaceId)();
}
