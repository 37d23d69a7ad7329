import type { ProjectId } from '../../lib/ids.ts';
import { RecordCache } from '../../lib/record-cache.ts';
import { retainedBytesOf } from '../../lib/retained-bytes.ts';
import { SharedCache } from '../../lib/shared-cache.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import type { Item, Version } from './item.ts';
import { findItem } from './item-store.ts';
import type { Kind } from './kind.ts';
import { type Pin, readVersion, versionAt } from './read-item.ts';
import { unknownItem } from './unknown-item.ts';

/**
 * Milliseconds for which an item is valid: while notifications of changes arrive, and while they do
 * not.
 */
const toldLifeMs = 60_000;
const untoldLifeMs = 800;
const missingMs = 800;
const staleOnErrorMs = 10 * 60_000;
/** Limits of the cached items: their number and their bytes. */
const itemsMax = 5_000;
const itemBytesMax = 32 * 1024 * 1024;
/** Limits of the cached versions. A version of more than `keptBytesMax` is read every time. */
const versionsMax = 1_000;
const versionBytesMax = 32 * 1024 * 1024;
const keptBytesMax = 256 * 1024;

/** A project and the workspace that pays for what is kept of it. */
interface Project {
  projectId: ProjectId;
  workspaceId: string;
}

/**
 * Caches items and versions per process. A change in any process is visible here within a second. Workspaces share
 * it, see {@link SharedCache}.
 */
export class ItemCache<Content> {
  readonly #kind: Kind<Content>;
  readonly #postgres: Postgres;
  readonly #items: RecordCache<Item>;
  readonly #versions = new SharedCache<Version<Content>>({ entriesMax: versionsMax, bytesMax: versionBytesMax });

  constructor({ kind, postgres, invalidations }: CacheOptions<Content>) {
    this.#kind = kind;
    this.#postgres = postgres;
    this.#items = new RecordCache({
      load: (key) => {
        const [, projectId, ...named] = key.split(' ');
        return findItem(postgres, kind, projectId as ProjectId, named.join(' '));
      },
      sharerOf: (key) => key.slice(0, key.indexOf(' ')),
      lifeMs: () => (invalidations.connected ? toldLifeMs : untoldLifeMs),
      missingMs,
      staleOnErrorMs,
      entriesMax: itemsMax,
      sizes: { bytesMax: itemBytesMax, bytesOf: retainedBytesOf },
    });
    invalidations.subscribe(kind.noun, (ids) => this.#items.drop((item) => ids.has(item.id)));
    invalidations.onGap(() => this.#items.doubt());
  }

  /**
   * Returns a live item by its id or slug.
   * @throws UnavailableError
   */
  find(project: Project, idOrSlug: string): Promise<Item | undefined> {
    return this.#items.find(keyOf(project, idOrSlug));
  }

  /** Returns whether {@link find} needs no first look-up. */
  knows(project: Project, idOrSlug: string): boolean {
    return this.#items.knows(keyOf(project, idOrSlug));
  }

  /**
   * Returns a live item by its id or slug.
   * @throws NotFoundError, UnavailableError
   */
  async read(project: Project, idOrSlug: string): Promise<Item> {
    const item = await this.find(project, idOrSlug);
    if (item === undefined) throw unknownItem(this.#kind, idOrSlug);
    return item;
  }

  /**
   * Returns a live item and the number of the requested version.
   * @throws NotFoundError, UnavailableError
   */
  async locate(project: Project, idOrSlug: string, pin: Pin): Promise<{ item: Item; number: number }> {
    const item = await this.read(project, idOrSlug);
    return { item, number: versionAt(this.#kind, item, pin) };
  }

  /**
   * Returns one version of an item.
   * @throws NotFoundError, UnavailableError
   */
  async readVersion({ workspaceId }: Project, item: Item, number: number): Promise<Version<Content>> {
    const key = `${item.id} ${number}`;
    const known = this.#versions.get(workspaceId, key);
    if (known !== undefined) return known;
    const version = await readVersion(this.#postgres, this.#kind, item, number);
    const bytes = retainedBytesOf(version);
    if (bytes <= keptBytesMax) this.#versions.set(workspaceId, key, version, bytes);
    return version;
  }
}

const keyOf = ({ workspaceId, projectId }: Project, idOrSlug: string) => `${workspaceId} ${projectId} ${idOrSlug}`;

interface CacheOptions<Content> {
  kind: Kind<Content>;
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'connected' | 'subscribe' | 'onGap'>;
}
