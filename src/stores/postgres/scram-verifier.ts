import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/** Postgres' own figures for a password that it digests itself. */
const [iterations, saltBytes] = [4_096, 16];

/**
 * What Postgres stores of a password under SCRAM-SHA-256 (RFC 5802, RFC 7677), in the form of RFC 5803, so that the server need not be
 * told the password. Nobody can log in with a verifier, and it takes a guess of the password to check one against it.
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
 * Approximates SASLprep (RFC 4013) by what pg does when it logs in: it maps and normalizes, and refuses nothing. It changes no ASCII, and
 * differs from Postgres' own only where a password holds characters that SASLprep prohibits or does not know.
 */
const prepared = (password: string) => password.replace(otherSpaces, ' ').replace(leftOut, '').normalize('NFKC');
