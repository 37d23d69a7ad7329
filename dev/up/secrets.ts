import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { givenFaults } from './environment.ts';
import { CannotStart } from './errors.ts';
import { readIfPresent, replaceJson } from './files.ts';

const secretsSchema = z.object({
  admin_key: z.string(),
  api_key_pepper: z.string(),
  jwt_secret: z.string(),
  /** Password of the user of API and worker for the embedded Postgres. Absent in a file of an earlier version. */
  database_password: z.string().optional(),
  /** Absent until the first seed. The database stores only its hash. */
  api_key: z.string().optional(),
});

export type Secrets = z.infer<typeof secretsSchema>;
export type CompleteSecrets = Secrets & { database_password: string };

/**
 * Returns the secrets of the environment, otherwise those of the file, otherwise random values.
 * Those of the environment must be valid (`readUpConfig`), because they are stored. Throws
 * CannotStart for a damaged file.
 */
export function loadSecrets(path: string, env: NodeJS.ProcessEnv): CompleteSecrets {
  const stored = usable(readStored(path));
  const secrets: CompleteSecrets = {
    ...stored,
    admin_key: env.ADMIN_API_KEY || stored.admin_key || randomSecret(),
    api_key_pepper: env.API_KEY_PEPPER || stored.api_key_pepper || randomSecret(),
    jwt_secret: env.JWT_SECRET || stored.jwt_secret || randomSecret(),
    // The migrations set it at every start. With earlier versions, Postgres logged it, so their
    // stored value is not secret.
    database_password: randomSecret(),
  };
  replaceJson(path, secrets);
  return secrets;
}

/** Removes stored values of earlier versions that no process accepts. */
function usable(stored: Partial<Secrets>): Partial<Secrets> {
  const isValid = (name: string, value: string | undefined) => givenFaults({ [name]: value }).length === 0;
  const { admin_key, api_key_pepper, jwt_secret, api_key, ...others } = stored;
  return {
    ...others,
    ...(isValid('ADMIN_API_KEY', admin_key) && { admin_key }),
    ...(isValid('JWT_SECRET', jwt_secret) && { jwt_secret }),
    // The database has the hash of the API key with that pepper.
    ...(isValid('API_KEY_PEPPER', api_key_pepper) && { api_key_pepper, api_key }),
  };
}

function readStored(path: string): Partial<Secrets> {
  const text = readIfPresent(path);
  if (text === undefined) return {};
  try {
    return secretsSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new CannotStart(`${path} is damaged. Restore it, or remove it to generate new keys`, { cause });
  }
}

/** 256 bits. */
function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
