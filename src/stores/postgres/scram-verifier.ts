import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/** The values that Postgres uses when it hashes a password itself. */
const [iterations, saltBytes] = [4_096, 16];

/**
 * Returns what Postgres stores for a password under SCRAM-SHA-256 (RFC 5802, RFC 7677), in the
 * format of RFC 5803. So the server does not see the password. A verifier does not allow a login;
 * it only allows checking a guessed password.
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(saltBytes)): string {
  const salted = pbkdf2Sync(prepared(password), salt, iterations, 32, 'sha256');
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  const serverKey = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${Buffer.from(salt).toString('base64')}$${storedKey}:${serverKey}`;
}

const hmac = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest();

const otherSpaces = /[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g;
const leftOut = /\u00AD|\u034F|\u1806|[\u180B-\u180D]|\u200C|\u200D|\u2060|[\uFE00-\uFE0F]|\uFEFF/g;

/**
 * Approximates SASLprep (RFC 4013) as pg does at login: it maps and normalizes, but rejects
 * nothing. ASCII stays unchanged. The result differs from Postgres only for characters that
 * SASLprep prohibits or does not know.
 */
const prepared = (password: string) => password.replace(otherSpaces, ' ').replace(leftOut, '').normalize('NFKC');
