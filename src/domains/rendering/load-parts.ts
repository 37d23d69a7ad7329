import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
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

/** Where the parts of projects are, parsed once per version. */
export interface PartSource {
  parts: ItemCache<PartContent>;
  threads: TemplateThreads;
  parsed: LRUCache<string, ParsedTemplate>;
}

/** What a reference comes to, which changes with the part's versions and labels. */
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

/** Whose parts they are, and who pays for parsing them. */
export type PartsProject = Pick<ProjectScope, 'projectId' | 'workspaceId'>;
type Reference = { slug: string; ref: string };

const parsedMax = 2_000;
const parsedBytesMax = 32 * 1024 * 1024;
/** As many statements at a time as do not keep others from the database. */
const loadingMax = 4;

export function createPartSource(deps: Omit<PartSource, 'parsed'>): PartSource {
  return { ...deps, parsed: new LRUCache({ max: parsedMax, maxSize: parsedBytesMax }) };
}

/** Every part the templates reach, directly and through others. Throws TemplateLimitError, UnavailableError. */
export async function loadParts(
  source: PartSource,
  project: PartsProject,
  templates: readonly ParsedTemplate[],
): Promise<LoadedParts> {
  const loaded: LoadedParts = { picks: [], byRef: new Map() };
  const known = new Set<string>();
  let wanted = newReferences(templates, known);
  let characters = charactersOf(templates);
  // One level more than allowed, so that what is too deep is found out.
  for (let depth = 0; wanted.length > 0 && depth <= templateLimits.partDepthMax; depth++) {
    if (known.size > templateLimits.partUsesMax) {
      throw new TemplateLimitError(`More than ${templateLimits.partUsesMax} parts are reached`, 'parts');
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

/** Whether the references still come to the same. Throws UnavailableError. */
export async function arePicksCurrent(
  { parts }: Pick<PartSource, 'parts'>,
  project: PartsProject,
  picks: readonly PartPick[],
): Promise<boolean> {
  for (const pick of picks) {
    const item = await parts.find(project, pick.slug);
    const version = item && pinned(item, pick.ref);
    if (version !== pick.version || (version !== undefined && item?.id !== pick.id)) return false;
  }
  return true;
}

async function loadPart(
  source: PartSource,
  project: PartsProject,
  { slug, ref }: Reference,
  picks: PartPick[],
): Promise<ResolvedPart | undefined> {
  const item = await source.parts.find(project, slug);
  const version = item && pinned(item, ref);
  const isThere = item !== undefined && version !== undefined;
  picks.push(isThere ? { slug, ref, id: item.id, version } : { slug, ref });
  if (!isThere) return undefined;
  const key = `${item.id} ${version}`;
  const template = source.parsed.get(key) ?? (await parsePart(source, project, item, version));
  source.parsed.set(key, template, { size: Math.max(1, parsedSizeOf(template)) });
  return { slug: item.slug, version, template };
}

const charactersOf = (templates: readonly ParsedTemplate[]) =>
  templates.reduce((sum, { source }) => sum + source.length, 0);

function requireFew(characters: number): void {
  const { reachedCharactersMax } = templateLimits;
  if (characters <= reachedCharactersMax) return;
  throw new TemplateLimitError(
    `With the parts it reaches, a prompt has at most ${reachedCharactersMax} characters; this one has more`,
    'parts',
  );
}

/** For whoever needs it next too, so it goes on when the one who asked has gone. */
async function parsePart(
  { parts, threads }: PartSource,
  { workspaceId }: PartsProject,
  item: Item,
  number: number,
): Promise<ParsedTemplate> {
  const { content } = await parts.readVersion(item, number);
  // Parsing takes up to some 20 ms, and a thousand parts may be at hand.
  await nextTurn();
  return parseTemplate(threads.of(workspaceId), content.templateFormat, content.template);
}

/** The version that `slug`, `slug@3` or `slug@label` means. */
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

async function forEachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const open = items.values();
  const lane = async () => {
    for (const item of open) await run(item);
  };
  await Promise.all(Array.from({ length: loadingMax }, lane));
}
