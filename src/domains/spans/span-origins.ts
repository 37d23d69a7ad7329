import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { field, plain, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields } from '../../stores/clickhouse/statements.ts';
import { spansPerTraceMax } from './light-span-queries.ts';
import { ofTrace } from './trace-sql.ts';

/** The host values of a resource, as read from ClickHouse. */
export interface HostHints {
  /** Values of those {@link hostAttributes} that the resource has. */
  attributes: Readonly<Record<string, string>>;
  /** Hash of the whole resource; '' for a resource without attributes. */
  resourceHash: string;
}

/**
 * Attributes that identify the clock of a host, the most reliable first. Of `host.ip` the first
 * address counts.
 */
export const hostAttributes = ['host.id', 'host.ip', 'host.name', 'service.instance.id'] as const;

/** Code points of a long name that a tree shows, and of the name of a host that tell it from others. */
const textCharsMax = 1_000;

/** Returns SQL for the beginning of a text, as a tree shows it. */
export const beginningOf = (sql: string) => `substringUTF8(${sql}, 1, ${textCharsMax})`;

/** What a tree shows about the resource and the scope of a span. */
export interface Origin {
  scope: string;
  hostKey: string;
}

/** Identifies an origin by a hash of its contents, so that a cached origin stays valid forever. */
export const originColumn = 'origin_hash';

/** Placeholder for origins above `originsMax`. */
export const unknownOrigin: Origin = { scope: '', hostKey: '' };

/** Type of a resource's attributes. A list of addresses is an array value. */
const attributesType = `Array(Tuple(key String, value Tuple(
  stringValue String, arrayValue Tuple(values Array(Tuple(stringValue String))))))`;
const resourceAttributes = `JSONExtract(toString(resource), 'attributes', '${attributesType}')`;
const hostNames = hostAttributes.map((name) => `'${name}'`).join(', ');

const hostValues = `arrayMap(a -> [a.1, ${beginningOf("if(a.2.1 = '', a.2.2.1[1].1, a.2.1)")}],
  arrayFilter(a -> a.1 IN (${hostNames}), ${resourceAttributes}))`;

const reader = rowReader({
  hash: plain<string>(originColumn),
  scope: plain<string>(beginningOf("JSONExtractString(toString(scope), 'name')")),
  attributes: field(hostValues, (pairs: [name: string, value: string][]) => Object.fromEntries(pairs)),
  resourceHash: plain<string>(`if(empty(${resourceAttributes}), '', lower(hex(cityHash64(toString(resource)))))`),
});

/** A tree has at most this many spans, so it has no more origins. */
const originsMax = spansPerTraceMax;
const charsMax = 4_000_000;
/** Cache by project and hash: the same few processes send all spans of a project. */
const known = new LRUCache<string, Origin>({ max: originsMax, maxSize: charsMax });

/**
 * Returns the origins of a trace's spans by {@link originColumn}. ClickHouse is asked only for
 * origins that are not cached: parsing their JSON for every span was the slowest step of a tree.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findOrigins(
  clickhouse: ClickHouse,
  { projectId, traceId }: { projectId: string; traceId: string },
  hashes: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Origin>> {
  const found = new Map<string, Origin>();
  for (const hash of hashes) {
    const origin = known.get(projectId + hash);
    if (origin !== undefined) found.set(hash, origin);
  }
  if (found.size === hashes.size) return found;
  const rows = await readFields(clickhouse, reader, {
    query: `SELECT ${reader.columns} FROM (SELECT ${originColumn}, any(resource) AS resource, any(scope) AS scope FROM spans PREWHERE ${ofTrace} GROUP BY ${originColumn} LIMIT ${originsMax})`,
    query_params: { projectId, traceId },
  });
  for (const { hash, scope, ...hints } of rows) {
    const origin = { scope, hostKey: hostKeyOf(hints) };
    known.set(projectId + hash, origin, { size: 1 + scope.length + origin.hostKey.length });
    found.set(hash, origin);
  }
  return found;
}

/**
 * Names the clock that a span was measured with. Many SDKs do not name the host: then spans of one
 * resource share a clock, and spans of two resources may not. Returns '' for a resource without
 * attributes, whose spans are assumed to share the clock of their parent.
 */
export function hostKeyOf({ attributes, resourceHash }: HostHints): string {
  for (const name of hostAttributes) {
    const value = attributes[name];
    if (value !== undefined && value !== '') return value;
  }
  return resourceHash === '' ? '' : `resource:${resourceHash}`;
}
