import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** What a feedback token is for: feedback on one trace. */
export interface FeedbackGrant {
  projectId: string;
  traceId: string;
  expiresAtS: number;
}

const prefix = 'fbt_';
const macBytes = 32;
/** A token has about 160 characters. */
const charactersMax = 512;

const payload = z.tuple([z.string(), z.string(), z.int()]);

/** Returns whether a bearer token has the form of a feedback token. It may still be invalid. */
export function looksLikeFeedbackToken(token: string): boolean {
  return token.startsWith(prefix);
}

/**
 * Creates a token: `fbt_` and base64url of an HMAC-SHA256 and the JSON of the grant. It is not
 * stored anywhere, so it ends only with its expiry or its project.
 */
export function mintFeedbackToken(pepper: string, { projectId, traceId, expiresAtS }: FeedbackGrant): string {
  const content = Buffer.from(JSON.stringify([projectId, traceId, expiresAtS]));
  return prefix + Buffer.concat([sign(pepper, content), content]).toString('base64url');
}

/** Reads a token. Returns undefined when it was not issued with this pepper or has expired. */
export function readFeedbackToken(
  pepper: string,
  token: string,
  nowMs: number = Date.now(),
): FeedbackGrant | undefined {
  if (!looksLikeFeedbackToken(token) || token.length > charactersMax) return undefined;
  const encoded = token.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  const content = bytes.subarray(macBytes);
  // Buffer.from skips characters outside base64url, so only one text is valid for each grant.
  if (bytes.length <= macBytes || bytes.toString('base64url') !== encoded) return undefined;
  if (!timingSafeEqual(sign(pepper, content), bytes.subarray(0, macBytes))) return undefined;
  const [projectId, traceId, expiresAtS] = payload.parse(JSON.parse(content.toString()));
  return expiresAtS * 1_000 > nowMs ? { projectId, traceId, expiresAtS } : undefined;
}

/** The pepper also signs API keys and cursors, so this purpose has its own key. */
function sign(pepper: string, content: Uint8Array): Buffer {
  const key = createHmac('sha256', pepper).update('feedback tokens').digest();
  return createHmac('sha256', key).update(content).digest();
}
