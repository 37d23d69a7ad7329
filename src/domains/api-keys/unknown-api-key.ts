import { NotFoundError } from '../../lib/errors.ts';

/** The same for a key that never was and for one of another project. */
export function unknownApiKey(id: string): NotFoundError {
  return new NotFoundError(
    'api_key_not_found',
    `There is no API key ${JSON.stringify(id.slice(0, 80))} in this project.`,
  );
}
