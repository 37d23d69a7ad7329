import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { scramVerifier } from '../../../src/stores/postgres/scram-verifier.ts';

const keysOf = (verifier: string) => (verifier.split('$')[2] ?? '').split(':').map((key) => Buffer.from(key, 'base64'));
const [salt, otherSalt] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];

describe('scramVerifier', () => {
  test('accepts the proof, and makes the signature, of the example in RFC 7677', () => {
    const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
    const message = `n=user,r=rOprNGfwEbeRWgbNEkqO,r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=${nonce}`;
    const proof = Buffer.from('dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=', 'base64');
    const verifier = scramVerifier('pencil', Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'));
    expect(verifier).toMatch(/^SCRAM-SHA-256\$4096:W22ZaJ0SNY7soEsUEjb6gQ==\$/);
    const [storedKey = Buffer.of(), serverKey = Buffer.of()] = keysOf(verifier);
    const signature = createHmac('sha256', storedKey).update(message).digest();
    const clientKey = proof.map((byte, index) => byte ^ (signature[index] ?? 0));
    expect(createHash('sha256').update(clientKey).digest()).toEqual(storedKey);
    expect(createHmac('sha256', serverKey).update(message).digest('base64')).toBe(
      '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
    );
  });

  test('differs by salt, which is random unless it is given', () => {
    expect(scramVerifier('secret', salt)).not.toBe(scramVerifier('secret', otherSalt));
    expect(scramVerifier('secret')).not.toBe(scramVerifier('secret'));
  });

  test.each([
    ['a ligature', '\uFB01n', 'fin'],
    ['a composed letter', 'u\u0308', '\u00FC'],
    ['a no-break space', 'a\u00A0b', 'a b'],
    ['a soft hyphen', 'a\u00ADb', 'ab'],
  ])('takes %s for what SASLprep makes of it', (_, written, meant) => {
    expect(scramVerifier(written, salt)).toBe(scramVerifier(meant, salt));
  });
});
