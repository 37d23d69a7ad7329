import { z } from 'zod';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { Acting, Collection } from './collection.ts';
import type { Item, ItemAt, JsonObject, Version } from './item.ts';
import type { ItemCache } from './item-cache.ts';
import type { ItemKind } from './kind.ts';
import { projectParams } from './params.schema.ts';

/** How the items of a kind appear over HTTP. */
export interface Exposure<Content> {
  collection: Collection<Content>;
  cursorSecret: string;
  path: `/api/projects/{project_id}/${string}`;
  /** `Prompt`: within operation ids. */
  title: 'Prompt' | 'Part';
  itemAtSchema: z.ZodType<JsonObject>;
  versionSchema: z.ZodType<JsonObject>;
  itemAtToWire: (at: ItemAt<Content>) => JsonObject;
  versionToWire: (version: Version<Content>) => JsonObject;
  /** An item that is read, from a cache where there is one. */
  read: (project: ProjectScope, called: string) => Promise<Item>;
  readVersion: (item: Item, version: number) => Promise<Version<Content>>;
  locate: ItemCache<Content>['locate'];
}

/** Adds what every kind needs to be read. */
export function expose<Content>(
  { cache, cursorSecret }: ExposeDeps<Content>,
  exposed: Omit<Exposure<Content>, 'cursorSecret' | 'read' | 'readVersion' | 'locate'>,
): Exposure<Content> {
  return {
    ...exposed,
    cursorSecret,
    read: (project, named) => cache.read(project, named),
    readVersion: (item, version) => cache.readVersion(item, version),
    locate: (project, named, pin) => cache.locate(project, named, pin),
  };
}

interface ExposeDeps<Content> {
  cache: ItemCache<Content>;
  cursorSecret: string;
}

export const reading = { method: 'GET', access: { scope: 'prompts:read' }, rateClass: 'read' } as const;
export const writing = { access: { scope: 'prompts:write' }, rateClass: 'write' } as const;

const called = z.string().min(1).max(100).meta({ description: 'Its id or slug', example: 'support-answer' });

/** Path parameters of one item; {@link calledIn} reads which. */
export const itemParams = (kind: ItemKind) => projectParams.extend(calledParam(kind));

/** The path parameter that names the item, to spread into more of them. */
export function calledParam(kind: ItemKind): Record<string, typeof called> {
  return { [kind.idColumn]: called };
}

export function calledIn({ idColumn }: ItemKind, params: Readonly<Record<string, unknown>>): string {
  return String(params[idColumn]);
}

export function actingFor(principal: Principal, requestId: string, waiter?: Acting['waiter']): Acting {
  return { project: projectOf(principal), actor: auditActorOf(principal, requestId), waiter };
}
