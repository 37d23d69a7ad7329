import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import type { JwtConfig } from '../../../config.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { readClaims, type TokenClaims } from './claims.ts';
import { PublishedKeys } from './published-keys.ts';
import { readTokenHeader, type TokenHeader } from './token-header.ts';

/**
 * Verifies a token. Resolves to undefined for every invalid token, and for one that had expired at `atMs`, by default now.
 * @throws UnavailableError when its key cannot be fetched
 */
export type VerifyToken = (token: string, atMs?: number) => Promise<TokenClaims | undefined>;

const tokenCharsMax = 8_192;
const clockToleranceS = 5;
/** A withdrawn key takes effect after this time. */
const rememberedMs = 30_000;
const rememberedMax = 10_000;

/**
 * Creates the verifier of JWTs. Each algorithm has its own source of keys, so that a public key is
 * never used as a shared secret.
 */
export function createTokenVerifier(config: JwtConfig, logger: Logger): VerifyToken {
  const secret = config.secret === undefined ? undefined : createSecretKey(Buffer.from(config.secret));
  const published = config.jwksUrl === undefined ? undefined : new PublishedKeys(config.jwksUrl, logger);
  const keyOf = async (header: TokenHeader) => (header.alg === 'HS256' ? secret : published?.find(header));
  const remembered = new LRUCache<string, { claims: TokenClaims; untilMs: number }>({ max: rememberedMax });

  return async (token, atMs = Date.now()) => {
    if (token.length > tokenCharsMax) return undefined;
    const digest = createHash('sha256').update(token).digest('base64');
    const known = remembered.get(digest);
    if (known !== undefined && Date.now() < known.untilMs && atMs < known.claims.expiresAtMs) return known.claims;
    const header = readTokenHeader(token);
    const key = header && (await keyOf(header));
    const claims = header && key && verify(token, key, { ...header, atMs }, config);
    if (claims === undefined) return undefined;
    remembered.set(digest, { claims, untilMs: Date.now() + rememberedMs });
    return claims;
  };
}

function verify(
  token: string,
  key: KeyObject,
  { alg, atMs }: Pick<TokenHeader, 'alg'> & { atMs: number },
  { issuers, audiences }: JwtConfig,
): TokenClaims | undefined {
  try {
    const payload = jsonwebtoken.verify(token, key, {
      algorithms: [alg],
      clockTimestamp: Math.floor(atMs / 1_000),
      clockTolerance: clockToleranceS,
      ...(isFilled(issuers) && { issuer: issuers }),
      ...(isFilled(audiences) && { audience: audiences }),
    });
    return readClaims(payload);
  } catch {
    // For any error the token is invalid. The caller does not learn which check failed.
    return undefined;
  }
}

function isFilled(values: readonly string[]): values is [string, ...string[]] {
  return values.length > 0;
}
