import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../lib/fair-lane-options.ts';
import { SharedCache } from '../../lib/shared-cache.ts';
import type { PartContent } from '../parts/index.ts';
import {
  type ParsedTemplate,
  parseTemplate,
  type ResolvedPart,
  TemplateLimitError,
  type TemplateThreads,
  templateLimits,
} from '../templates/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { parsedSizeOf } from './parsed-size.ts';

/** Reads parts and caches their parsed versions. */
export interface PartSource {
  parts: ItemCache<PartContent>;
  threads: TemplateThreads;
  parsed: SharedCache<ParsedTemplate>;
  /** Reads of parts that may need a database connection. */
  reads: FairLane;
}

/** The version that a reference resolves to. It changes with the part's versions and labels. */
export interface PartPick {
  slug: string;
  ref: string;
  id?: string;
  version?: number;
}

export interface LoadedParts {
  picks: PartPick[];
  byRef: Map<string, ResolvedPart>;
}

/** The project that has the parts, and the workspace that pays for parsing them. */
export type PartsProject = Pick<ProjectScope, 'projectId' | 'workspaceId'>;
type Reference = { slug: string; ref: string };

const parsedLimits = { entriesMax: 2_000, bytesMax: 32 * 1024 * 1024 };
/** Parts of one prompt that are loaded at a time. */
const loadingMax = 4;
/** Reads of parts at a time, so that other requests get database connections. A prompt is loaded alone as fast as before. */
const reading = {
  ...{ name: 'reads of parts', capacity: 6, perKey: loadingMax, perBusyKey: 2 },
  ...{ waitingPerKey: 1_024, waitingMax: 8_192, waitMsMax: requestWaitMsMax },
};

/** Creates a source of parts with an empty cache. */
export function createPartSource(deps: Pick<PartSource, 'parts' | 'threads'>): PartSource {
  return {
    ...deps,
    parsed: new SharedCache(parsedLimits),
    reads: new FairLane(reading),
  };
}

/**
 * Loads every part that the templates reach, directly or through other parts.
 * @throws TemplateLimitError, RateLimitedError, UnavailableError
 */
export async function loadParts(
  source: PartSource,
  project: PartsProject,
  templates: readonly ParsedTemplate[],
): Promise<LoadedParts> {
  const loaded: LoadedParts = { picks: [], byRef: new Map() };
  const known = new Set<string>();
  let wanted = newReferences(templates, known);
  let characters = charactersOf(templates);
  // Loads one level more than allowed, so that parts with too many levels are detected.
  for (let depth = 0; wanted.length > 0 && depth <= templateLimits.partDepthMax; depth++) {
    if (known.size > templateLimits.partUsesMax) {
      throw new TemplateLimitError(
        `A prompt may reach at most ${templateLimits.partUsesMax} parts; this one reaches more`,
        'parts',
      );
    }
    const found: ParsedTemplate[] = [];
    await forEachOf(wanted, async (reference) => {
      const part = await loadPart(source, project, reference, loaded.picks);
      if (part === undefined) return;
      characters += charactersOf([part.template]);
      requireFew(characters);
      loaded.byRef.set(reference.ref, part);
      found.push(part.template);
    });
    wanted = newReferences(found, known);
  }
  return loaded;
}

/**
 * Loads the versions that references had, whatever they resolve to now. A part that was deleted since is missing.
 * @throws RateLimitedError, UnavailableError
 */
export async function loadPicked(
  source: PartSource,
  project: PartsProject,
  picks: readonly PartPick[],
): Promise<LoadedParts> {
  const loaded: LoadedParts = { picks: [...picks], byRef: new Map() };
  await forEachOf(picks, async ({ ref, id, version }) => {
    const item = id === undefined ? undefined : await findPart(source, project, id);
    if (item !== undefined && version !== undefined)
      loaded.byRef.set(ref, await loadVersion(source, project, item, version));
  });
  return loaded;
}

/**
 * Returns whether the references still resolve to the same versions.
 * @throws RateLimitedError, UnavailableError
 */
export async function arePicksCurrent(
  source: Pick<PartSource, 'parts' | 'reads'>,
  project: PartsProject,
  picks: readonly PartPick[],
): Promise<boolean> {
  for (const pick of picks) {
    const item = await findPart(source, project, pick.slug);
    const version = item && pinned(item, pick.ref);
    if (version !== pick.version || (version !== undefined && item?.id !== pick.id)) return false;
  }
  return true;
}

/** A part that this process knows is found without a place. */
async function findPart(
  { parts, reads }: Pick<PartSource, 'parts' | 'reads'>,
  project: PartsProject,
  idOrSlug: string,
): Promise<Item | undefined> {
  const find = () => parts.find(project, idOrSlug);
  return parts.knows(project, idOrSlug) ? find() : reads.run(project.workspaceId, find);
}

async function loadPart(
  source: PartSource,
  project: PartsProject,
  { slug, ref }: Reference,
  picks: PartPick[],
): Promise<ResolvedPart | undefined> {
  const item = await findPart(source, project, slug);
  const version = item && pinned(item, ref);
  const isThere = item !== undefined && version !== undefined;
  picks.push(isThere ? { slug, ref, id: item.id, version } : { slug, ref });
  return isThere ? loadVersion(source, project, item, version) : undefined;
}

async function loadVersion(
  source: PartSource,
  project: PartsProject,
  item: Item,
  version: number,
): Promise<ResolvedPart> {
  const key = `${item.id} ${version}`;
  const template = source.parsed.get(project.workspaceId, key) ?? (await parsePart(source, project, item, version));
  source.parsed.set(project.workspaceId, key, template, parsedSizeOf(template));
  return { slug: item.slug, version, template };
}

const charactersOf = (templates: readonly ParsedTemplate[]) =>
  templates.reduce((sum, { source }) => sum + source.length, 0);

function requireFew(characters: number): void {
  const { reachedCharactersMax } = templateLimits;
  if (characters <= reachedCharactersMax) return;
  throw new TemplateLimitError(
    `A prompt and all its parts may have at most ${reachedCharactersMax} characters together; these have more`,
    'parts',
  );
}

/**
 * Parses a part. It passes no waiter, because the result is cached for others too: parsing
 * continues when the caller leaves.
 */
async function parsePart(
  { parts, threads, reads }: PartSource,
  project: PartsProject,
  item: Item,
  number: number,
): Promise<ParsedTemplate> {
  const { workspaceId } = project;
  const { content } = await reads.run(workspaceId, () => parts.readVersion(project, item, number));
  // Yields to other requests: parsing takes up to about 20 ms, and there may be a thousand parts.
  await nextTurn();
  return parseTemplate(threads.of(workspaceId), content.templateFormat, content.template);
}

/** Returns the version that `slug`, `slug@3` or `slug@label` resolves to. */
function pinned({ latestVersion, labels }: Item, ref: string): number | undefined {
  const at = ref.indexOf('@');
  const pin = at < 0 ? 'latest' : ref.slice(at + 1);
  if (pin === 'latest') return latestVersion;
  if (!/^\d+$/.test(pin)) return labels.find(({ label }) => label === pin)?.version;
  const version = Number(pin);
  return version >= 1 && version <= latestVersion ? version : undefined;
}

function newReferences(templates: readonly ParsedTemplate[], known: Set<string>): Reference[] {
  const wanted: Reference[] = [];
  for (const { slug, ref } of templates.flatMap(({ parts }) => parts)) {
    if (known.has(ref)) continue;
    known.add(ref);
    wanted.push({ slug, ref });
  }
  return wanted;
}

/** Runs a few at a time. After an error, none begins any more. */
async function forEachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const open = items.values();
  let hasFailed = false;
  const lane = async () => {
    for (const item of open) {
      if (hasFailed) return;
      await run(item).catch((error) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: loadingMax }, lane));
}
