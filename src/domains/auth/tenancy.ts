import { RecordCache } from '../../lib/record-cache.ts';
import { TimeoutError, within } from '../../lib/within.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { postgresAway } from '../../stores/postgres/errors.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import {
  findProjectScope,
  findWorkspace,
  type PlanName,
  type ProjectScope,
  type WorkspaceScope,
} from '../workspaces/index.ts';
import type { ApiKeyRecord } from './api-key-record.ts';
import { findApiKeyRecord } from './api-key-record-store.ts';
import type { TokenClaims } from './token/claims.ts';
import type { UserRecord } from './users/user-record.ts';
import { ensureUser, findUserRecord } from './users/user-store.ts';

/** The database lookups that requests need before they are admitted, with an in-memory cache. */
export interface Tenancy {
  findApiKey(lookupId: string): Promise<ApiKeyRecord | undefined>;
  /** Returns whether the key was looked up before. */
  knowsApiKey(lookupId: string): boolean;
  findProject(projectId: string): Promise<ProjectScope | undefined>;
  /** Returns whether {@link findProject} can answer without a query. */
  knowsProject(projectId: string): boolean;
  findWorkspace(workspaceId: string): Promise<WorkspaceScope | undefined>;
  /** Returns the user of a valid token. On first use creates the user with a personal workspace. */
  findUser(claims: TokenClaims): Promise<UserRecord>;
}

/**
 * Cache lifetime while changes cannot be received. It is short, so that a change still takes effect
 * within a second.
 */
const unheardLifeMs = 600;
const lifeMs = 60_000;
const missingMs = 800;
/** A database that hangs is treated as unavailable. */
const loadMsMax = 2_000;
const staleOnErrorMs = 10 * 60_000;

/**
 * Creates the cached lookups. Changes that `invalidations` reports drop the affected cache entries.
 */
export function createTenancy(deps: {
  postgres: Postgres;
  invalidations: Invalidations;
  defaultPlan: PlanName;
}): Tenancy {
  const { postgres, invalidations } = deps;
  const cacheOf = <T>(load: (key: string) => Promise<T | undefined>, entriesMax: number) => {
    const life = () => (invalidations.connected ? lifeMs : unheardLifeMs);
    const loadInTime = (key: string) =>
      within(loadMsMax, () => load(key)).catch((error: unknown) => {
        throw error instanceof TimeoutError ? postgresAway(error) : error;
      });
    const cache = new RecordCache({ load: loadInTime, lifeMs: life, missingMs, staleOnErrorMs, entriesMax });
    invalidations.onGap(() => cache.doubt());
    return cache;
  };
  const apiKeys = cacheOf((lookupId) => findApiKeyRecord(postgres, lookupId), 20_000);
  const projects = cacheOf((projectId) => findProjectScope(postgres, projectId), 20_000);
  const workspaces = cacheOf((workspaceId) => findWorkspace(postgres, workspaceId), 5_000);
  const users = cacheOf((subject) => findUserRecord(postgres, subject), 20_000);
  invalidations.subscribe('api_key', (ids) => apiKeys.drop((key) => ids.has(key.id)));
  invalidations.subscribe('user', (ids) => users.drop((user) => ids.has(user.userId)));
  invalidations.subscribe('project', (ids) => {
    apiKeys.drop((key) => ids.has(key.project.projectId));
    projects.drop((project) => ids.has(project.projectId));
  });
  invalidations.subscribe('workspace', (ids) => {
    apiKeys.drop((key) => ids.has(key.project.workspaceId));
    projects.drop((project) => ids.has(project.workspaceId));
    workspaces.drop((workspace) => ids.has(workspace.id));
    users.drop((user) => [...user.memberships.keys()].some((id) => ids.has(id)));
  });

  const making = new Map<string, Promise<void>>();
  const make = ({ subject, email, name }: TokenClaims): Promise<void> => {
    const underWay = making.get(subject);
    if (underWay !== undefined) return underWay;
    const made = ensureUser(postgres, { subject, email, name, plan: deps.defaultPlan }).finally(() => {
      making.delete(subject);
      users.drop((user) => user.subject === subject);
    });
    making.set(subject, made);
    return made;
  };

  return {
    findApiKey: (lookupId) => apiKeys.find(lookupId),
    knowsApiKey: (lookupId) => apiKeys.knows(lookupId),
    knowsProject: (projectId) => !isAskable(projectId) || projects.knows(projectId),
    findProject: async (projectId) => (isAskable(projectId) ? projects.find(projectId) : undefined),
    findWorkspace: async (workspaceId) => (isAskable(workspaceId) ? workspaces.find(workspaceId) : undefined),
    async findUser(claims) {
      const known = await users.find(claims.subject);
      if (known !== undefined && (known.deleted || known.personalWorkspaceId !== undefined)) return known;
      await make(claims);
      const made = await users.find(claims.subject);
      if (made === undefined) throw new Error('A user that was just stored was not found');
      return made;
    },
  };
}

/**
 * Returns whether a string can be one of our ids. Longer strings are not looked up and not cached.
 */
function isAskable(id: string): boolean {
  return id.length <= 64;
}
