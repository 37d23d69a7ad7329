import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeApiKey, lookupIdOf, matchesDigest, mintApiKey } from '../../../src/domains/auth/api-key-token.ts';

const pepper = 'a pepper of the tests';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-';

describe('a minted key', () => {
  test('has the documented shape and needs no escaping in OTEL_EXPORTER_OTLP_HEADERS', () => {
    for (let count = 0; count < 200; count++) {
      const { key } = mintApiKey(pepper);
      expect(key).toMatch(/^pl_[0-9A-Za-z]{12}_[A-Za-z0-9_-]{43}_[0-9A-Za-z]{6}$/);
      expect(encodeURIComponent(key)).toBe(key);
    }
  });

  test('is known by its id and its digest, and describes itself again', () => {
    const minted = mintApiKey(pepper);
    expect(lookupIdOf(minted.key)).toBe(minted.lookupId);
    expect(minted.digest).toHaveLength(32);
    expect(matchesDigest(minted.key, pepper, minted.digest)).toBe(true);
    expect(describeApiKey(minted.key, pepper)).toEqual(minted);
  });

  test('does not match under another pepper, nor another key under this one', () => {
    const minted = mintApiKey(pepper);
    expect(matchesDigest(minted.key, `${pepper}!`, minted.digest)).toBe(false);
    expect(matchesDigest(mintApiKey(pepper).key, pepper, minted.digest)).toBe(false);
  });

  test('with any one character changed is refused by its checksum, without a look-up', () => {
    const { key } = mintApiKey(pepper);
    const position = fc.nat({ max: key.length - 1 });
    fc.assert(
      fc.property(position, fc.constantFrom(...alphabet), (at, character) => {
        fc.pre(key[at] !== character);
        expect(lookupIdOf(key.slice(0, at) + character + key.slice(at + 1))).toBeUndefined();
      }),
    );
  });
});

describe('any other text', () => {
  test('is no key', () => {
    fc.assert(fc.property(fc.string(), (text) => lookupIdOf(text) === undefined));
    expect(() => describeApiKey('pl_no_key', pepper)).toThrow(/its format or its checksum/);
  });
});
