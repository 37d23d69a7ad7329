const nanosPerUsd = 1_000_000_000n;

/**
 * Formats nano-USD as the decimal string of the API, with at least six decimals: `1234000n` is
 * `"0.001234"`.
 */
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
 * Parses a decimal string with at most 9 decimals, or a number, which is rounded to 9 decimals.
 * @returns nano-USD; undefined for any other value, a negative amount, or one billion dollars and
 * more
 */
export function parseUsd(value: unknown): bigint | undefined {
  const text = typeof value === 'number' && value < 1e9 ? value.toFixed(9) : value;
  const match = typeof text === 'string' ? /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text) : null;
  if (match === null) return undefined;
  return BigInt(match[1] ?? '') * nanosPerUsd + BigInt((match[2] ?? '').padEnd(9, '0'));
}

const attoDigits = 18;

/**
 * Returns the atto-USD (1e-18) of a plain decimal such as `2.50`. Digits after the eighteenth
 * decimal are dropped.
 */
export function attoUsdFromDecimal(decimal: string): bigint {
  const [whole = '0', decimals = ''] = decimal.split('.');
  return BigInt(whole + decimals.slice(0, attoDigits).padEnd(attoDigits, '0'));
}

/**
 * Returns the atto-USD of a double. The double is read as the shortest decimal that has its value:
 * 0.1 is exactly a tenth.
 */
export function attoUsdFromNumber(usd: number): bigint {
  const text = String(usd);
  // The shortest decimal of a small or large number has an exponent; toFixed writes all its digits.
  return attoUsdFromDecimal(text.includes('e') ? usd.toFixed(attoDigits) : text);
}
