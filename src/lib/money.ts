const nanosPerUsd = 1_000_000_000n;

/** Nano-USD as the wire's decimal string, at least six decimals: `1234000n` is `"0.001234"`. */
export function formatUsd(nanoUsd: bigint): string {
  const sign = nanoUsd < 0n ? '-' : '';
  const magnitude = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const decimals = (magnitude % nanosPerUsd)
    .toString()
    .padStart(9, '0')
    .replace(/0{1,3}$/, '');
  return `${sign}${magnitude / nanosPerUsd}.${decimals}`;
}

/**
 * Nano-USD of a decimal string of at most 9 decimals, or of a number, which is rounded to them; undefined for anything else, a
 * negative amount or a billion dollars and more.
 */
export function parseUsd(value: unknown): bigint | undefined {
  const text = typeof value === 'number' && value < 1e9 ? value.toFixed(9) : value;
  const match = typeof text === 'string' ? /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text) : null;
  if (match === null) return undefined;
  return BigInt(match[1] ?? '') * nanosPerUsd + BigInt((match[2] ?? '').padEnd(9, '0'));
}
