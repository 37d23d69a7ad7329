import { createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokenVerifier, type VerifyToken } from '../../../src/domains/auth/token/token-verifier.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { type JwksServer, newSigningKey, signToken, signWith, startJwksServer } from '../../support/jwks-server.ts';

const secret = 'a secret of no less than 32 bytes, for tests';
const rsa = newSigningKey('rsa-1', 'RS256');
const ec = newSigningKey('ec-1', 'ES256');
const stranger = newSigningKey('ec-1', 'ES256');
const weak = newSigningKey('rsa-weak', 'RS256', 1024);
const nowS = Math.floor(Date.now() / 1000);
const good = { sub: 'user_1', exp: nowS + 300, iss: 'https://idp.example', aud: 'promptlane' };
const { exp: _exp, ...withoutExp } = good;
const { sub: _sub, ...withoutSub } = good;
const { iss: _iss, ...withoutIss } = good;
const { aud: _aud, ...withoutAud } = good;
const logger = createLogger({ level: 'silent', name: 'test' });

let jwks: JwksServer;
let verify: VerifyToken;
beforeAll(async () => {
  jwks = await startJwksServer(rsa, ec, weak);
  const rules = { issuers: ['https://other.example', good.iss], audiences: [good.aud, 'console'] };
  verify = createTokenVerifier({ secret, jwksUrl: jwks.url, ...rules }, logger);
});
afterAll(() => jwks.close());

const hs = (payload: unknown, header: object = {}) =>
  signToken({ alg: 'HS256', typ: 'JWT', ...header }, payload, secret);
const rsaPem = createPublicKey(rsa.privateKey).export({ type: 'spki', format: 'pem' }).toString();

describe('a token that is right', () => {
  test.each<[string, string]>([
    ['HS256 with the secret', hs(good)],
    ['RS256 with a published key', signWith(rsa, good)],
    ['ES256 with a published key', signWith(ec, good)],
    ['one of several audiences', hs({ ...good, aud: ['elsewhere', 'console'] })],
    ['expired within the tolerance', hs({ ...good, exp: nowS - 1 })],
    ['not before within the tolerance', hs({ ...good, nbf: nowS + 3 })],
    ['embedded keys, which are ignored', signWith(ec, good, { jwk: stranger.jwk, jku: 'https://evil.example/jwks' })],
    ['an odd display name, which is left out', hs({ ...good, name: 7, email: 'x'.repeat(400) })],
  ])('is accepted: %s', async (_what, token) => {
    expect(await verify(token)).toMatchObject({ subject: 'user_1', orgId: undefined, name: undefined });
  });

  test('says who, of which organization and until when', async () => {
    expect(await verify(hs({ ...good, org_id: 'org_1', email: 'a@b.example', name: 'Ada' }))).toEqual({
      subject: 'user_1',
      orgId: 'org_1',
      email: 'a@b.example',
      name: 'Ada',
      expiresAtMs: good.exp * 1000,
    });
  });
});

test('a token that has expired is refused, also after it was accepted for an earlier time', async () => {
  const token = hs({ ...good, exp: nowS - 60 });
  expect(await verify(token)).toBeUndefined();
  expect(await verify(token, (nowS - 61) * 1_000)).toMatchObject({ subject: 'user_1' });
  expect(await verify(token)).toBeUndefined();
});

describe('a token that is wrong', () => {
  test.each<[string, string]>([
    ['alg none, unsigned', signToken({ alg: 'none' }, good, undefined)],
    ['alg None, unsigned', signToken({ alg: 'None' }, good, undefined)],
    ['alg none, signed', signToken({ alg: 'none' }, good, secret)],
    ['HS256 without a signature', signToken({ alg: 'HS256' }, good, undefined)],
    ['HS256 with the RSA public key as the secret', signToken({ alg: 'HS256', kid: 'rsa-1' }, good, rsaPem)],
    ['HS256 with the trimmed RSA public key', signToken({ alg: 'HS256', kid: 'rsa-1' }, good, rsaPem.trim())],
    ['HS512', signToken({ alg: 'HS512' }, good, secret)],
    ['RS256 signed with the secret', signToken({ alg: 'RS256', kid: 'rsa-1' }, good, secret)],
    ['RS256 that names an EC key', signToken({ alg: 'RS256', kid: 'ec-1' }, good, rsa.privateKey)],
    ['ES256 that names an RSA key', signToken({ alg: 'ES256', kid: 'rsa-1' }, good, ec.privateKey)],
    ['another alg of the same key', signToken({ alg: 'RS512', kid: 'rsa-1' }, good, rsa.privateKey)],
    ['a key of less than 2048 bits', signWith(weak, good)],
    ['another secret', signToken({ alg: 'HS256' }, good, `${secret}x`)],
    ['another key under a known id', signWith(stranger, good)],
    ['an embedded jwk', signWith({ ...stranger, kid: 'mine' }, good, { jwk: { ...stranger.jwk, kid: 'mine' } })],
    ['an embedded jku', signWith({ ...stranger, kid: 'mine' }, good, { jku: 'http://127.0.0.1:1/jwks.json' })],
    ['an embedded x5u', signWith({ ...stranger, kid: 'mine' }, good, { x5u: 'http://127.0.0.1:1/x5u.pem' })],
    ['an unknown key id', signWith({ ...ec, kid: 'unknown' }, good)],
    ['a key id that is not text', signToken({ alg: 'ES256', kid: { $gt: '' } }, good, ec.privateKey)],
    ['a critical extension', hs(good, { crit: ['exp'] })],
    ['expired', hs({ ...good, exp: nowS - 6 })],
    ['no exp', hs(withoutExp)],
    ['exp as text', hs({ ...good, exp: String(good.exp) })],
    ['exp null', hs({ ...good, exp: null })],
    ['no sub', hs(withoutSub)],
    ['an empty sub', hs({ ...good, sub: '' })],
    ['a sub that is a number', hs({ ...good, sub: 1 })],
    ['a sub with NUL', hs({ ...good, sub: 'a\u0000b' })],
    ['a sub with half a surrogate pair', hs({ ...good, sub: 'a\ud800' })],
    ['a sub of 256 characters', hs({ ...good, sub: 'x'.repeat(256) })],
    ['an organization that is not text', hs({ ...good, org_id: ['org_1'] })],
    ['nbf in the future', hs({ ...good, nbf: nowS + 60 })],
    ['nbf as text', hs({ ...good, nbf: '0' })],
    ['the wrong issuer', hs({ ...good, iss: 'https://idp.example.evil' })],
    ['no issuer', hs(withoutIss)],
    ['the wrong audience', hs({ ...good, aud: ['promptlane2'] })],
    ['no audience', hs(withoutAud)],
    ['a payload that is a list', hs([good])],
    ['a payload that is text', hs('user_1')],
    ['a changed payload', hs(good).replace(/\.[^.]+\./, `.${Buffer.from('{"sub":"root"}').toString('base64url')}.`)],
    ['a header that is no object', signToken([] as never, good, secret)],
    ['nothing', ''],
    ['dots', '..'],
    ['garbage', 'not a token'],
    ['bytes', '\u0000\u0001.\u00ff.\ud800'],
    ['four parts', `${hs(good)}.x`],
    ['over 8 KiB', hs({ ...good, pad: 'x'.repeat(8_192) })],
  ])('is refused: %s', async (_what, token) => {
    expect(await verify(token)).toBeUndefined();
  });

  test('causes no fetch but the first', () => {
    expect(jwks.fetches).toBe(1);
  });
});

test('without a secret HS256 is no algorithm, without a key set RS256 and ES256 are none', async () => {
  const any = { issuers: [], audiences: [] };
  const onlyPublished = createTokenVerifier({ secret: undefined, jwksUrl: jwks.url, ...any }, logger);
  const onlySecret = createTokenVerifier({ secret, jwksUrl: undefined, ...any }, logger);
  expect(await onlyPublished(hs(good))).toBeUndefined();
  expect(await onlySecret(signWith(ec, good))).toBeUndefined();
  expect(await onlySecret(hs({ ...good, iss: undefined, aud: undefined }))).toBeDefined();
});

test('a token that was good is refused once it has expired', async () => {
  const token = hs({ ...good, exp: Math.floor(Date.now() / 1000) - 3 });
  expect(await verify(token)).toBeDefined();
  await expect.poll(() => verify(token), { timeout: 5_000 }).toBeUndefined();
});
