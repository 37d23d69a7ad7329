import { LRUCache } from 'lru-cache';
import type { ProjectId } from '../../lib/ids.ts';
import { RecordCache } from '../../lib/record-cache.ts';
import { retainedBytesOf } from '../../lib/retained-bytes.ts';
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

/**
 * Caches items and versions per process. A change in any process is visible here within a second.
 */
export class ItemCache<Content> {
  readonly #kind: Kind<Content>;
  readonly #postgres: Postgres;
  readonly #items: RecordCache<Item>;
  readonly #versions = new LRUCache<string, Version<Content>>({
    max: versionsMax,
    maxSize: versionBytesMax,
    maxEntrySize: keptBytesMax,
    sizeCalculation: retainedBytesOf,
  });

  constructor({ kind, postgres, invalidations }: CacheOptions<Content>) {
    this.#kind = kind;
    this.#postgres = postgres;
    this.#items = new RecordCache({
      load: (key) => {
        const at = key.indexOf(' ');
        return findItem(postgres, kind, key.slice(0, at) as ProjectId, key.slice(at + 1));
      },
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
  find({ projectId }: { projectId: ProjectId }, idOrSlug: string): Promise<Item | undefined> {
    return this.#items.find(`${projectId} ${idOrSlug}`);
  }

  /** Returns whether {@link find} needs no first look-up. */
  knows({ projectId }: { projectId: ProjectId }, idOrSlug: string): boolean {
    return this.#items.knows(`${projectId} ${idOrSlug}`);
  }

  /**
   * Returns a live item by its id or slug.
   * @throws NotFoundError, UnavailableError
   */
  async read(project: { projectId: ProjectId }, idOrSlug: string): Promise<Item> {
    const item = await this.find(project, idOrSlug);
    if (item === undefined) throw unknownItem(this.#kind, idOrSlug);
    return item;
  }

  /**
   * Returns a live item and the number of the requested version.
   * @throws NotFoundError, UnavailableError
   */
  async locate(project: { projectId: ProjectId }, idOrSlug: string, pin: Pin): Promise<{ item: Item; number: number }> {
    const item = await this.read(project, idOrSlug);
    return { item, number: versionAt(this.#kind, item, pin) };
  }

  /**
   * Returns one version of an item.
   * @throws NotFoundError, UnavailableError
   */
  async readVersion(item: Item, number: number): Promise<Version<Content>> {
    const key = `${item.id} ${number}`;
    const known = this.#versions.get(key);
    if (known !== undefined) return known;
    const version = await readVersion(this.#postgres, this.#kind, item, number);
    this.#versions.set(key, version);
    return version;
  }
}

interface CacheOptions<Content> {
  kind: Kind<Content>;
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'connected' | 'subscribe' | 'onGap'>;
}
