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
