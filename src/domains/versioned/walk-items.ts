import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item, Version } from './item.ts';
import { listItemsBySlug } from './item-list-store.ts';
import type { Kind } from './kind.ts';
import { listVersionsUpwards } from './version-store.ts';

const itemsPerRead = 50;
/** Versions per read. One version has up to a megabyte. */
const versionsPerRead = 20;

/**
 * Yields all live items of a project by slug, each followed by its versions in order. Reads while
 * the caller consumes.
 * @throws UnavailableError
 */
export async function* walkItems<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  projectId: ProjectId,
): AsyncGenerator<{ item: Item; version?: Version<Content> }> {
  let afterSlug = '';
  for (;;) {
    const page = { afterSlug, limit: itemsPerRead };
    const items = await listItemsBySlug(postgres, kind, projectId, page);
    for (const item of items) {
      yield { item };
      // Stops at the newest version that the item had when it was read; versions added later are
      // not included.
      for (let after = 0; after < item.latestVersion; after += versionsPerRead) {
        const upTo = Math.min(after + versionsPerRead, item.latestVersion);
        const versions = await listVersionsUpwards(postgres, kind, item, { after, upTo });
        for (const version of versions) yield { item, version };
      }
    }
    const last = items.at(-1);
    if (last === undefined || items.length < itemsPerRead) return;
    afterSlug = last.slug;
  }
}
