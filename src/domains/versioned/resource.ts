import { z } from 'zod';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { Acting, Collection } from './collection.ts';
import type { Item, ItemAt, JsonObject, Version } from './item.ts';
import type { ItemCache } from './item-cache.ts';
import type { ItemKind } from './kind.ts';
import { projectParams } from './params.schema.ts';

/** How the items of a kind appear over HTTP. */
export interface ItemResource<Content> {
  collection: Collection<Content>;
  cursorSecret: string;
  path: `/api/projects/{project_id}/${string}`;
  /** Used in operation ids. */
  title: 'Prompt' | 'Part';
  itemAtSchema: z.ZodType<JsonObject>;
  versionSchema: z.ZodType<JsonObject>;
  itemAtToWire: (at: ItemAt<Content>) => JsonObject;
  versionToWire: (version: Version<Content>) => JsonObject;
  /** Reads an item through the cache. */
  read: (project: ProjectScope, idOrSlug: string) => Promise<Item>;
  readVersion: (project: ProjectScope, item: Item, version: number) => Promise<Version<Content>>;
  locate: ItemCache<Content>['locate'];
}

/** Adds the functions that read items of any kind. */
export function itemResource<Content>(
  { cache, cursorSecret }: ItemResourceDeps<Content>,
  given: Omit<ItemResource<Content>, 'cursorSecret' | 'read' | 'readVersion' | 'locate'>,
): ItemResource<Content> {
  return {
    ...given,
    cursorSecret,
    read: (project, named) => cache.read(project, named),
    readVersion: (project, item, version) => cache.readVersion(project, item, version),
    locate: (project, named, pin) => cache.locate(project, named, pin),
  };
}

interface ItemResourceDeps<Content> {
  cache: ItemCache<Content>;
  cursorSecret: string;
}

export const reading = { method: 'GET', access: { scope: 'prompts:read' }, rateClass: 'read' } as const;
export const writing = { access: { scope: 'prompts:write' }, rateClass: 'write' } as const;

const idOrSlug = z.string().min(1).max(100).meta({ description: 'Id or slug of the item', example: 'support-answer' });

/** Path parameters of one item; {@link idOrSlugIn} reads its id or slug. */
export const itemParams = (kind: ItemKind) => projectParams.extend(idOrSlugParam(kind));

/** Returns the path parameter that names the item, to be spread into other parameters. */
export function idOrSlugParam(kind: ItemKind): Record<string, typeof idOrSlug> {
  return { [kind.idColumn]: idOrSlug };
}

/** Reads the item's id or slug from the path parameters. */
export function idOrSlugIn({ idColumn }: ItemKind, params: Readonly<Record<string, unknown>>): string {
  return String(params[idColumn]);
}

/** Returns the project and actor of a request. */
export function actingFor(principal: Principal, requestId: string, waiter?: Acting['waiter']): Acting {
  return { project: projectOf(principal), actor: auditActorOf(principal, requestId), waiter };
}
