import { type Principal, projectOf } from '../auth/index.ts';
import type { Reader } from './read-lanes.ts';

/**
 * Returns the reader of a request. A read counts against the workspace of the project, whichever caller sent
 * the request.
 */
export function readerOf(principal: Principal, signal: AbortSignal): Reader {
  return { workspaceId: projectOf(principal).workspaceId, signal };
}
