/** What a resource says of its host, as read from the store. */
export interface HostHints {
  /** Values of the {@link hostAttributes} that the resource has. */
  attributes: Readonly<Record<string, string>>;
  /** Hash of the whole resource; '' for one without attributes. */
  resourceHash: string;
}

/** Attributes that tell one clock from another, the surest first; of `host.ip` the first address. */
export const hostAttributes = ['host.id', 'host.ip', 'host.name', 'service.instance.id'] as const;

/**
 * Names the clock that a span was measured with. Many SDKs say nothing of the host; then spans of one resource share a clock, and
 * others may not. '' for a resource without attributes: it says nothing, so its spans are taken to share the clock of their parent.
 */
export function hostKeyOf({ attributes, resourceHash }: HostHints): string {
  for (const name of hostAttributes) {
    const value = attributes[name];
    if (value !== undefined && value !== '') return value;
  }
  return resourceHash === '' ? '' : `resource:${resourceHash}`;
}
