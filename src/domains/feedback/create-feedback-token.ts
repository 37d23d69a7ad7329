import { mintFeedbackToken } from '../auth/index.ts';

/** Creates a token for feedback on one trace. The trace may arrive later. Nothing is stored. */
export function createFeedbackToken(
  { apiKeyPepper }: { apiKeyPepper: string },
  { projectId, traceId, ttlS }: { projectId: string; traceId: string; ttlS: number },
): { token: string; expiresAt: Date } {
  const expiresAtS = Math.floor(Date.now() / 1_000) + ttlS;
  return {
    token: mintFeedbackToken(apiKeyPepper, { projectId, traceId, expiresAtS }),
    expiresAt: new Date(expiresAtS * 1_000),
  };
}
