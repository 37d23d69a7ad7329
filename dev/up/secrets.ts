import { randomBytes } from 'node:crypto';
import { z } from 'zod';
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

/** What the file holds, else fresh random values; what the environment sets wins. Throws CannotStart on a damaged file. */
export function loadSecrets(path: string, env: NodeJS.ProcessEnv): CompleteSecrets {
  const stored = readStored(path);
  const secrets: CompleteSecrets = {
    ...stored,
    admin_key: env.ADMIN_API_KEY || stored?.admin_key || randomSecret(),
    api_key_pepper: env.API_KEY_PEPPER || stored?.api_key_pepper || randomSecret(),
    jwt_secret: env.JWT_SECRET || stored?.jwt_secret || randomSecret(),
    database_password: stored?.database_password ?? randomSecret(),
  };
  replaceJson(path, secrets);
  return secrets;
}

function readStored(path: string): Secrets | undefined {
  const text = readIfPresent(path);
  if (text === undefined) return undefined;
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
