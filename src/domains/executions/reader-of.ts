import { type Principal, projectOf } from '../auth/index.ts';
import type { Reader } from './read-lanes.ts';

/** Whose reads they are: those of the project's workspace, whoever asks for them. */
export function readerOf(principal: Principal, signal: AbortSignal): Reader {
  return { workspaceId: projectOf(principal).workspaceId, signal };
}
