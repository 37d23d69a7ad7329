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
