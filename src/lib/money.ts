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
