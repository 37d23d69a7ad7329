import { expect } from 'vitest';

/** Formats nano-USD as the API does. */
export function usdOf(nano: bigint): string {
  const decimals = (nano % 1_000_000_000n).toString().padStart(9, '0');
  return `${nano / 1_000_000_000n}.${decimals.replace(/0{1,3}$/, '')}`;
}

/** Parses an amount of the API to nano-USD. */
export function nanoOf(usd: string | null): bigint {
  const [whole = '0', decimals = ''] = (usd ?? '0').split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(decimals.padEnd(9, '0'));
}

/** The interpolated percentile of sorted values (type 7 of Hyndman and Fan). */
export function percentile(sorted: readonly number[], level: number): unknown {
  if (sorted.length === 0) return null;
  const place = (sorted.length - 1) * level;
  const [below, above] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
  return expect.closeTo(below + (above - below) * (place % 1), 6);
}
