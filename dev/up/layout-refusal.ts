import { requireKnownLayouts } from '../../src/cli/migrate.ts';
import { UnknownLayoutError } from '../../src/stores/layout.ts';
import type { EngineName } from '../engines.ts';
import { ENGINE_VARIABLES, type UpConfig } from './config.ts';
import { CannotStart } from './errors.ts';

const ENGINE_NAMES: readonly EngineName[] = ['postgres', 'redis', 'clickhouse'];

/**
 * Returns why the migrations failed and how to start over, if another version created a store.
 * Otherwise returns undefined.
 */
export async function layoutRefusal(
  config: UpConfig,
  urls: { databaseUrl: string; clickhouseUrl: string },
): Promise<CannotStart | undefined> {
  const failure: unknown = await requireKnownLayouts(urls).catch((error: unknown) => error);
  return failure instanceof UnknownLayoutError ? new CannotStart(failure.explain(startOver(config))) : undefined;
}

/**
 * Returns how to empty all stores. They are emptied together, because each refers to the data of
 * the others. Secrets and keys are kept.
 */
export function startOver({ dataDir, externalUrls }: UpConfig): string {
  const own = ENGINE_NAMES.filter((name) => !externalUrls[name]);
  const foreign = ENGINE_NAMES.filter((name) => externalUrls[name] && name !== 'redis');
  return [
    ...foreign.map((name) => `set ${ENGINE_VARIABLES[name]} to an empty database`),
    ...(own.length > 0 ? [`run: cd '${dataDir}' && rm -r ${own.join(' ')}`] : []),
  ].join(' and ');
}
