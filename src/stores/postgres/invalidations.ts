import { within } from '../../lib/within.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { ChangeReader } from './change-reader.ts';

/**
 * Kinds of objects whose cached records become invalid when they change. Triggers record the
 * changes (see the migrations).
 */
export type InvalidationTopic = 'api_key' | 'budget' | 'part' | 'project' | 'prompt' | 'user' | 'workspace';

export interface Invalidations {
  /** Whether every change older than {@link heardForMs} has been received. */
  readonly connected: boolean;
  /**
   * Announces committed changes to this process immediately, which takes as long for many ids as for one. Other processes find it in the table
   * of changes, where the transaction itself has written it. Never throws.
   */
  publish(topic: InvalidationTopic, ids: readonly string[]): Promise<void>;
  subscribe(topic: InvalidationTopic, changed: (ids: ReadonlySet<string>) => void): void;
  /**
   * Registers a callback for possibly missed changes: at the start, and after the database was
   * unavailable.
   */
  onGap(missed: () => void): void;
  start(): void;
  close(): void;
}

const readEveryMs = 150;
const readTimeoutMs = 2_000;
/**
 * A change takes effect within this time, otherwise caches use a short lifetime. Well below the
 * promised second.
 */
export const heardForMs = 700;

/**
 * Notifies the caches of a process of changes here and elsewhere. It reads the table of changes six
 * times a second.
 */
export function createInvalidations(options: { databaseUrl: string; logger: Logger }): Invalidations {
  const reader = new ChangeReader(options.databaseUrl);
  const listeners = new Map<string, ((ids: ReadonlySet<string>) => void)[]>();
  const gapListeners: (() => void)[] = [];
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const tell = (topic: string, ids: ReadonlySet<string>) => {
    for (const changed of listeners.get(topic) ?? []) changed(ids);
  };
  const read = async () => {
    const startedAtMs = performance.now();
    try {
      const changes = await within(readTimeoutMs, () => reader.read());
      if (closed) return;
      if (changes === undefined) for (const missed of gapListeners) missed();
      else for (const [topic, ids] of idsByTopic(changes)) tell(topic, ids);
      heardAtMs = startedAtMs;
    } catch (error) {
      options.logger.debug({ err: error }, 'changes cannot be read');
      reader.reset();
    }
  };
  const readAgain = async () => {
    await read();
    if (!closed) timer = setTimeout(readAgain, readEveryMs).unref();
  };

  return {
    get connected() {
      return performance.now() - heardAtMs < heardForMs;
    },
    async publish(topic, ids) {
      if (ids.length > 0) tell(topic, new Set(ids));
    },
    subscribe(topic, changed) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), changed]);
    },
    onGap(missed) {
      gapListeners.push(missed);
    },
    start() {
      void readAgain();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      reader.reset();
    },
  };
}

function idsByTopic(changes: readonly { topic: string; id: string }[]): Map<string, Set<string>> {
  const byTopic = new Map<string, Set<string>>();
  for (const { topic, id } of changes) {
    const ids = byTopic.get(topic) ?? new Set();
    byTopic.set(topic, ids.add(id));
  }
  return byTopic;
}
