import { longKeyMin } from './text-key.ts';
/**
 * Cost per byte of parsing, checking and validating JSON. The unit is the time for one more number in a
 * list, about 0.1 us. Members are expensive when there are many with different names; an escape
 * costs a sixteenth.
 */
export const jsonCosts = { container: 4, member: 8, separator: 1, escape: 1 / 16 };

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, openBracket] = [0x7b, 0x5b];
/** The parser compares long names with each other, and with those of earlier bodies. */
const longNameCost = 20_000;
/** Cost of each byte outside of texts. */
const costOfByte = new Uint8Array(256);
for (const byte of [openBrace, openBracket]) costOfByte[byte] = jsonCosts.container;
costOfByte[colon] = jsonCosts.member;
costOfByte[comma] = jsonCosts.separator;

/** Tells whether parsing this JSON text costs more than `most`, without its escapes. Reads only until it does. */
export function costsMoreThan(bytes: Uint8Array, most: number): boolean {
  let cost = 0;
  for (let index = 0; index < bytes.length && cost <= most; index++) {
    if (bytes[index] !== quote) cost += costOfByte[bytes[index] ?? 0] ?? 0;
    else {
      const start = index;
      // The inner loop is short, because most bytes of large bodies are in texts.
      for (index++; index < bytes.length && bytes[index] !== quote; index++) {
        if (bytes[index] === backslash) index++;
      }
      if (index - start > longKeyMin && bytes[index + 1] === colon) cost += longNameCost;
    }
  }
  return cost > most;
}
