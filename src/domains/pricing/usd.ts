const attoDigits = 18;

/** Atto-USD (1e-18) of a plain decimal such as `2.50`; digits beyond the eighteenth are dropped. */
export function attoUsdFromDecimal(decimal: string): bigint {
  const [whole = '0', decimals = ''] = decimal.split('.');
  return BigInt(whole + decimals.slice(0, attoDigits).padEnd(attoDigits, '0'));
}

/** Atto-USD of a double, taken as the shortest decimal that is read as that double: 0.1 is a tenth. */
export function attoUsdFromNumber(usd: number): bigint {
  const text = String(usd);
  // The shortest decimal of small and large numbers has an exponent, which toFixed spells out.
  return attoUsdFromDecimal(text.includes('e') ? usd.toFixed(attoDigits) : text);
}
