import type { Config } from '../../config.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { markKeysUsed } from './api-key-record-store.ts';
import type { AuthenticateDeps } from './authenticate.ts';
import { KeyUses } from './key-uses.ts';
import { createTenancy } from './tenancy.ts';
import { createTokenVerifier } from './token/token-verifier.ts';
import { UnknownRecords } from './unknown-records.ts';

export interface Authentication extends AuthenticateDeps {
  /** Stores the uses of keys that are not written yet. */
  close(): Promise<void>;
}

/** Creates everything that checks credentials and caches their owners, once per process. */
export function createAuthentication(deps: {
  config: Pick<Config, 'jwt' | 'defaultPlan' | 'apiKeyPepper' | 'adminApiKey'>;
  postgres: Postgres;
  /** The connection pool for looking up credentials. */
  credentials: Postgres;
  invalidations: Invalidations;
  logger: Logger;
}): Authentication {
  const { config, postgres, credentials, invalidations, logger } = deps;
  const keyUses = new KeyUses({ write: (keyIds) => markKeysUsed(postgres, keyIds), logger });
  return {
    tenancy: createTenancy({ postgres: credentials, invalidations, defaultPlan: config.defaultPlan }),
    verifyToken: createTokenVerifier(config.jwt, logger),
    keyUses,
    unknownKeys: new UnknownRecords('API keys', 64),
    unknownProjects: new UnknownRecords('projects', 512),
    apiKeyPepper: config.apiKeyPepper,
    adminApiKey: config.adminApiKey,
    close: () => keyUses.flush(),
  };
}
