import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import type { Caller } from './caller.ts';

/** `P` is the principal type of the `auth` domain, which builds on this domain. */
export interface WorkspacesDeps<P> {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  cursorSecret: string;
  callerOf: (principal: P, requestId: string) => Caller;
}
