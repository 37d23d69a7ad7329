import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTokenVerifier, type VerifyToken } from '../../../src/domains/auth/token/token-verifier.ts';
import { UnavailableError } from '../../../src/lib/errors.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { type JwksServer, newSigningKey, signWith, startJwksServer } from '../../support/jwks-server.ts';

const [first, second] = [newSigningKey('one'), newSigningKey('two')];
const hour = 3_600;
const payload = (extra: object = {}) => ({ sub: 'user_1', exp: Math.floor(Date.now() / 1000) + hour, ...extra });
/** Every token is another one, so that none is remembered. */
let serial = 0;
const token = (key = first) => signWith(key, payload({ jti: String(serial++) }));
const unknown = () => signWith({ ...second, kid: `unknown ${serial++}` }, payload());

let jwks: JwksServer;
let verify: VerifyToken;
/** Only the monotonic clock, by which fetches are spaced, is moved by hand. */
let aheadMs = 0;

beforeEach(async () => {
  jwks = await startJwksServer(first);
  const options = { secret: undefined, jwksUrl: jwks.url, issuers: [], audiences: [] };
  verify = createTokenVerifier(options, createLogger({ level: 'silent', name: 'test' }));
  const realNow = performance.now.bind(performance);
  aheadMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await jwks.close();
});

const unavailable = (response: { statusCode: number; end(): unknown }) => {
  response.statusCode = 503;
  response.end();
};

test('keys are fetched once, however many tokens come at once and after', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => verify(token())));
  expect(answers.every((claims) => claims?.subject === 'user_1')).toBe(true);
  expect(await verify(token())).toBeDefined();
  expect(jwks.fetches).toBe(1);
});

describe('rotation', () => {
  test('a key published later is picked up once the cooldown is over, the old one goes with the next fetch', async () => {
    expect(await verify(token(first))).toBeDefined();
    jwks.keys = [second];
    expect(await verify(token(second))).toBeUndefined();
    aheadMs += 30_001;
    expect(await verify(token(second))).toBeDefined();
    expect(await verify(token(first))).toBeUndefined();
    expect(jwks.fetches).toBe(2);
  });

  test('keys are renewed beside the requests after ten minutes', async () => {
    await verify(token(first));
    jwks.keys = [second];
    aheadMs += 10 * 60_000 + 1;
    expect(await verify(token(first))).toBeDefined();
    await expect.poll(() => verify(token(first))).toBeUndefined();
    expect(jwks.fetches).toBe(2);
  });
});

describe('a flood of unknown key ids', () => {
  test('costs one fetch per 30 s and locks out no good key', async () => {
    await verify(token());
    for (let round = 1; round <= 3; round++) {
      aheadMs += 30_001;
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => verify(index % 10 === 0 ? token() : unknown())),
      );
      expect(answers.filter((claims) => claims !== undefined)).toHaveLength(20);
      expect(jwks.fetches).toBe(1 + round);
    }
  });

  test('costs one fetch per 30 s also while the endpoint is away', async () => {
    await verify(token());
    jwks.answer = unavailable;
    aheadMs += 30_001;
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => verify(unknown())));
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    await verify(unknown()).catch(() => undefined);
    expect(jwks.fetches).toBe(2);
    expect(await verify(token())).toBeDefined();
  });
});

describe('an outage', () => {
  test('is survived with the keys held, however long it lasts', async () => {
    await verify(token());
    await jwks.close();
    for (let hours = 0; hours < 3; hours++) {
      aheadMs += hour * 1000;
      expect(await verify(token())).toBeDefined();
    }
  });

  test('from the start is told as such, tried again with pauses, and over once keys are there', async () => {
    jwks.answer = unavailable;
    await expect(verify(token())).rejects.toThrow(UnavailableError);
    await expect(verify(token())).rejects.toThrow(UnavailableError);
    expect(jwks.fetches).toBe(1);
    jwks.answer = undefined;
    aheadMs += 1_001;
    expect(await verify(token())).toBeDefined();
    expect(jwks.fetches).toBe(2);
  });

  test.each<[string, JwksServer['answer']]>([
    ['garbage', (response) => response.end('<html>')],
    ['JSON that is no key set', (response) => response.end('{"keys":{"0":1}}')],
    ['an endless answer', (response) => endless(response)],
    ['a redirect', (response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
    ['a cut connection', (response) => response.destroy()],
  ])('%s is an outage: cold it is told as such, later the keys held are used', async (_what, answer) => {
    jwks.answer = answer;
    await expect(verify(token())).rejects.toThrow(UnavailableError);
    expect(jwks.fetches).toBe(1);
    jwks.answer = undefined;
    aheadMs += 1_001;
    await verify(token());
    jwks.answer = answer;
    aheadMs += hour * 1000;
    expect(await verify(token())).toBeDefined();
  });

  test('a slow endpoint holds up nobody whose key is known, and others for three seconds at most', async () => {
    await verify(token());
    jwks.answer = () => undefined;
    aheadMs += 30_001;
    const startedAtMs = Date.now();
    const waiting = verify(unknown());
    expect(await verify(token())).toBeDefined();
    expect(Date.now() - startedAtMs).toBeLessThan(1_000);
    await expect(waiting).rejects.toThrow(UnavailableError);
    expect(Date.now() - startedAtMs).toBeLessThan(4_000);
  });
});

/** Writes for as long as the reader takes it. */
function endless(response: Parameters<NonNullable<JwksServer['answer']>>[0]): void {
  const chunk = ' '.repeat(64 * 1024);
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more);
  more();
}
