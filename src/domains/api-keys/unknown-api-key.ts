import { NotFoundError } from '../../lib/errors.ts';

/** Creates the error for an unknown key. A key of another project gets the same error. */
export function unknownApiKey(id: string): NotFoundError {
  return new NotFoundError('api_key_not_found', `This project has no API key ${JSON.stringify(id.slice(0, 80))}.`);
}
