import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { givenFaults } from './environment.ts';
import { CannotStart } from './errors.ts';
import { readIfPresent, replaceJson } from './files.ts';

const secretsSchema = z.object({
  admin_key: z.string(),
  api_key_pepper: z.string(),
  jwt_secret: z.string(),
  /** Of the user that API and worker connect to the embedded Postgres as; absent in a file of an earlier version. */
  database_password: z.string().optional(),
  /** Absent until the first seed: the database keeps only its hash. */
  api_key: z.string().optional(),
});

export type Secrets = z.infer<typeof secretsSchema>;
export type CompleteSecrets = Secrets & { database_password: string };

/**
 * What the file holds, else fresh random values; what the environment sets wins, and must be valid (`readUpConfig`), for it is stored.
 * Throws CannotStart on a damaged file.
 */
export function loadSecrets(path: string, env: NodeJS.ProcessEnv): CompleteSecrets {
  const stored = usable(readStored(path));
  const secrets: CompleteSecrets = {
    ...stored,
    admin_key: env.ADMIN_API_KEY || stored.admin_key || randomSecret(),
    api_key_pepper: env.API_KEY_PEPPER || stored.api_key_pepper || randomSecret(),
    jwt_secret: env.JWT_SECRET || stored.jwt_secret || randomSecret(),
    // Migrating sets it at every start. Earlier versions let Postgres log it, so what they stored is no secret any more.
    database_password: randomSecret(),
  };
  replaceJson(path, secrets);
  return secrets;
}

/** Without what earlier versions stored although no process starts with it. */
function usable(stored: Partial<Secrets>): Partial<Secrets> {
  const isValid = (name: string, value: string | undefined) => givenFaults({ [name]: value }).length === 0;
  const { admin_key, api_key_pepper, jwt_secret, api_key, ...others } = stored;
  return {
    ...others,
    ...(isValid('ADMIN_API_KEY', admin_key) && { admin_key }),
    ...(isValid('JWT_SECRET', jwt_secret) && { jwt_secret }),
    // The database holds the hash of the API key under that pepper.
    ...(isValid('API_KEY_PEPPER', api_key_pepper) && { api_key_pepper, api_key }),
  };
}

function readStored(path: string): Partial<Secrets> {
  const text = readIfPresent(path);
  if (text === undefined) return {};
  try {
    return secretsSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new CannotStart(`${path} is damaged: restore it, or remove it for new keys`, { cause });
  }
}

/** 256 bits. */
function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
