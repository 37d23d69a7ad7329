import { NotFoundError } from '../../lib/errors.ts';

export function unknownWorkspace(): NotFoundError {
  return new NotFoundError('workspace_not_found', 'There is no such workspace.');
}
