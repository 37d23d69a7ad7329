import { msFromNano } from '../../../lib/time.ts';

interface HostSkew {
  host: string;
  span_count: number;
  adjusted_spans: number;
  skew_ms: number;
}

/**
 * Counts the spans of each host that were moved, and finds its largest shift in ms. Hosts are
 * sorted by name; spans that name no host are left out of `by_host`.
 */
export function skewByHost(spans: readonly { hostKey: string; skewNano: bigint }[]): {
  adjusted_spans: number;
  by_host: HostSkew[];
} {
  const hosts = new Map<string, HostSkew>();
  for (const { hostKey, skewNano } of spans) {
    const host = hosts.get(hostKey) ?? { host: hostKey, span_count: 0, adjusted_spans: 0, skew_ms: 0 };
    const skewMs = msFromNano(skewNano);
    hosts.set(hostKey, {
      host: hostKey,
      span_count: host.span_count + 1,
      adjusted_spans: host.adjusted_spans + Number(skewNano !== 0n),
      skew_ms: Math.abs(skewMs) > Math.abs(host.skew_ms) ? skewMs : host.skew_ms,
    });
  }
  const all = [...hosts.values()];
  return {
    adjusted_spans: all.reduce((sum, host) => sum + host.adjusted_spans, 0),
    by_host: all.filter(({ host }) => host !== '').sort((a, b) => (a.host < b.host ? -1 : 1)),
  };
}
