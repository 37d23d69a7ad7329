import { NotFoundError } from '../../lib/errors.ts';

/** Creates the error for a workspace that does not exist or is not the caller's. */
export function unknownWorkspace(): NotFoundError {
  return new NotFoundError('workspace_not_found', 'The workspace does not exist or is not visible to you.');
}
