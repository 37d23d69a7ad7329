import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { CannotStart } from './errors.ts';
import { readIfPresent, replaceJson } from './files.ts';

const secretsSchema = z.object({
  admin_key: z.string(),
  api_key_pepper: z.string(),
  jwt_secret: z.string(),
  /** Absent until the first seed: the database keeps only its hash. */
  api_key: z.string().optional(),
});

export type Secrets = z.infer<typeof secretsSchema>;

/** What the file holds, else fresh random values; what the environment sets wins. Throws CannotStart on a damaged file. */
export function loadSecrets(path: string, env: NodeJS.ProcessEnv): Secrets {
  const stored = readStored(path);
  const secrets: Secrets = {
    ...stored,
    admin_key: env.ADMIN_API_KEY || stored?.admin_key || randomSecret(),
    api_key_pepper: env.API_KEY_PEPPER || stored?.api_key_pepper || randomSecret(),
    jwt_secret: env.JWT_SECRET || stored?.jwt_secret || randomSecret(),
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
