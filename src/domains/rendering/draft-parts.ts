import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../lib/fair-lane-options.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findSimilarPartSlugs } from '../parts/index.ts';
import { type ExpandedParts, expandParts, type ParsedTemplate, type ResolvedPart } from '../templates/index.ts';
import { loadParts, type PartSource, type PartsProject } from './load-parts.ts';

/**
 * Resolves the parts of a draft. The draft of a part replaces the newest version of that part, so
 * that a cycle is found.
 */
export async function expandDraft(
  source: PartSource,
  project: PartsProject,
  templates: readonly ParsedTemplate[],
  partSlug: string | undefined,
): Promise<ExpandedParts> {
  const { byRef } = await loadParts(source, project, templates);
  const self = partSlug === undefined ? undefined : await selfAs(source, project, templates, partSlug);
  const resolve = (slug: string, ref: string) =>
    self !== undefined && slug === partSlug && isNewest(ref, self) ? self : byRef.get(ref);
  return expandParts(templates, resolve, self);
}

const isNewest = (ref: string, { slug, version }: ResolvedPart) =>
  [slug, `${slug}@latest`, `${slug}@${version}`].includes(ref);

async function selfAs(
  { parts }: PartSource,
  project: PartsProject,
  [template]: readonly ParsedTemplate[],
  slug: string,
): Promise<ResolvedPart | undefined> {
  const saved = await parts.find(project, slug);
  return template && { slug, version: (saved?.latestVersion ?? 0) + 1, template };
}

const unknownMax = 5;
const similarMax = 10;
/** A search takes up to 50 ms of a processor. As many may wait as there may be validations in progress. */
const searches = new FairLane({
  ...{ name: 'searches of similar parts', capacity: 2, perKey: 1 },
  ...{ waitingPerKey: 64, waitingMax: 512, waitMsMax: requestWaitMsMax },
});

/**
 * Finds slugs to suggest for unknown parts.
 * @throws RateLimitedError, UnavailableError
 */
export async function similarParts(
  postgres: Postgres,
  { projectId, workspaceId }: PartsProject,
  { states }: ExpandedParts,
): Promise<string[]> {
  const unknown = states.filter(({ status }) => status === 'unknown').map(({ slug }) => slug);
  if (unknown.length === 0) return [];
  return searches.run(workspaceId, () =>
    findSimilarPartSlugs(postgres, projectId, unknown.slice(0, unknownMax), similarMax),
  );
}
