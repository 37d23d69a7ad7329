import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Delivery } from '../../../src/domains/identity/identity-provider.ts';
import { identityProviders } from '../../../src/domains/identity/identity-providers.ts';
import { secrets, standardHeaders, workosHeaders } from '../../support/identity-webhooks.ts';

const { clerk, workos, generic } = identityProviders;
const nowMs = 1_700_000_000_000;
const body = Buffer.from('{"type":"user.created","data":{"id":"user_1"}}');

beforeEach(() => void vi.useFakeTimers({ now: nowMs, toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

function signed(provider: 'clerk' | 'generic' | 'workos', bytes: Uint8Array = body, signing = {}): Delivery {
  const headers =
    provider === 'workos'
      ? workosHeaders(bytes, signing)
      : standardHeaders(bytes, provider === 'clerk' ? 'svix' : 'webhook', signing);
  return { headers, body: Buffer.from(bytes) };
}
const secretOf = { clerk: secrets.clerk, generic: secrets.generic, workos: secrets.workos };
const names = ['clerk', 'generic', 'workos'] as const;

describe('published vectors', () => {
  // github.com/standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts, "sign function works";
  // docs.svix.com/receiving/verifying-payloads/how-manual shows the same one with Svix's headers.
  const vector = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: '1614265330',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    body: Buffer.from('{"test": 2432232314}'),
  };
  function headersOf(prefix: string, changed: Partial<typeof vector> = {}) {
    const { id, timestamp, signature } = { ...vector, ...changed };
    return { [`${prefix}-id`]: id, [`${prefix}-timestamp`]: timestamp, [`${prefix}-signature`]: signature };
  }
  beforeEach(() => void vi.setSystemTime(Number(vector.timestamp) * 1_000));

  test.each(['svix', 'webhook'])(
    'of Standard Webhooks verifies with headers %s-*, with and without whsec_',
    (prefix) => {
      const delivery = { headers: headersOf(prefix), body: vector.body };
      expect(clerk.verify(delivery, [vector.secret])).toBe(true);
      expect(generic.verify(delivery, [vector.secret.slice('whsec_'.length)])).toBe(true);
      expect(generic.verify(delivery, [secrets.generic])).toBe(false);
    },
  );

  test('of Standard Webhooks among other signatures verifies; another version of the scheme does not count', () => {
    const other = 'Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=';
    const several = `v1,${other} v2,${other} ${vector.signature} v1,${other}`;
    const verify = (signature: string) =>
      generic.verify({ headers: headersOf('webhook', { signature }), body: vector.body }, [vector.secret]);
    expect(verify(several)).toBe(true);
    expect(verify(vector.signature.replace('v1,', 'v2,'))).toBe(false);
    // Each entry costs the library the encoding of the right one.
    expect(verify(`${'v1, '.repeat(3_000)}${vector.signature}`)).toBe(false);
    expect(verify(vector.signature.replace('v1,', 'v1a,'))).toBe(false);
  });

  test('of WorkOS verifies', () => {
    // github.com/workos/workos-ruby, spec/lib/workos/webhooks_spec.rb, "with the correct signature and body".
    vi.setSystemTime(1_626_125_972_272);
    const published = readFileSync(new URL('../../fixtures/identity/workos-ruby-directory-user.json', import.meta.url));
    const header = 't=1626125972272, v1=80f7ab7efadc306eb5797c588cee9410da9be4416782b497bf1e1bf4175fb928';
    const verify = (text: string, bytes = published, secret = 'FrQWzvMo0eqse22Ceyia2uuww') =>
      workos.verify({ headers: { 'workos-signature': text }, body: bytes }, [secret]);
    expect(verify(header)).toBe(true);
    expect(verify(header.replace(', ', ','))).toBe(true);
    expect(verify(header, Buffer.from('{"data":"invalid"}'))).toBe(false);
    expect(verify(header.replace('2272', '2273'))).toBe(false);
    expect(verify(header, published, 'LJlTiC19GmCKWs8AE0IaOQcos')).toBe(false);
  });

  test("our own signing of tests is the library's", () => {
    const id = 'msg_1';
    const theirs = new Webhook(secrets.generic).sign(id, new Date(nowMs), body.toString());
    expect(standardHeaders(body, 'webhook', { id, atMs: nowMs })['webhook-signature']).toBe(theirs);
  });
});

describe.each(names)('%s', (name) => {
  const provider = identityProviders[name];
  const secret = secretOf[name];

  test('during rotation each of several secrets verifies, and none after it is gone', () => {
    expect(provider.verify(signed(name), [secrets.clerkNext, secret])).toBe(true);
    expect(provider.verify(signed(name), [secret, secrets.clerkNext])).toBe(true);
    expect(provider.verify(signed(name), [secrets.clerkNext])).toBe(false);
    expect(provider.verify(signed(name), [])).toBe(false);
  });

  test.each([
    [-299, true],
    [-301, false],
    [299, true],
    [301, false],
  ])('signed %i s from now: %s', (seconds, expected) => {
    const delivery = signed(name, body, { atMs: nowMs + seconds * 1_000 });
    expect(provider.verify(delivery, [secret])).toBe(expected);
  });

  test('any changed byte of the body fails, and one more or one less', () => {
    const { headers } = signed(name);
    for (let index = 0; index < body.length; index++) {
      const changed = Buffer.from(body);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(provider.verify({ headers, body: changed }, [secret]), `byte ${index}`).toBe(false);
    }
    for (const other of [
      body.subarray(1),
      body.subarray(0, -1),
      Buffer.concat([body, Buffer.from(' ')]),
      Buffer.alloc(0),
    ]) {
      expect(provider.verify({ headers, body: other }, [secret])).toBe(false);
    }
  });

  test('a header changed in any place, empty or absent fails', () => {
    const { headers } = signed(name);
    for (const [key, value] of Object.entries(headers)) {
      const text = String(value);
      for (let index = 0; index < text.length; index++) {
        const changed = text.slice(0, index) + String.fromCharCode(text.charCodeAt(index) ^ 1) + text.slice(index + 1);
        expect(provider.verify({ headers: { ...headers, [key]: changed }, body }, [secret]), `${key}: ${changed}`).toBe(
          false,
        );
      }
      for (const other of ['', undefined, text.slice(0, -1), `${text}0`]) {
        expect(provider.verify({ headers: { ...headers, [key]: other }, body }, [secret]), `${key}: ${other}`).toBe(
          false,
        );
      }
    }
  });

  test('a body that is not UTF-8 never passes with the signature of what it would be decoded to', () => {
    const invalid = Buffer.concat([body, Buffer.from([0xff])]);
    const { headers } = signed(name, Buffer.from(invalid.toString()));
    expect(provider.verify({ headers, body: invalid }, [secret])).toBe(false);
  });

  test('a byte order mark is part of what was signed', () => {
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]);
    expect(provider.verify(signed(name, marked), [secret])).toBe(true);
    expect(provider.verify({ ...signed(name, marked), body }, [secret])).toBe(false);
  });
});

describe('timestamps', () => {
  const seconds = nowMs / 1_000;
  test.each([
    `${seconds}abc`,
    ` ${seconds}`,
    `+${seconds}`,
    `${seconds}.0`,
    '1e9',
    '0x6553f100',
    'NaN',
    `0${seconds}`,
    `${nowMs}`,
  ])('of Standard Webhooks: %j is refused, although signed with it or what the library makes of it', (timestamp) => {
    const base = standardHeaders(body, 'webhook', { id: 'msg_1', atMs: nowMs });
    expect(generic.verify({ headers: { ...base, 'webhook-timestamp': timestamp }, body }, [secrets.generic])).toBe(
      false,
    );
  });

  test('of WorkOS: seconds are refused', () => {
    expect(workos.verify({ headers: workosHeaders(body, { atMs: seconds }), body }, [secrets.workos])).toBe(false);
  });
});

describe('the event id', () => {
  test('is the one that was signed, when a delivery has headers of both kinds', () => {
    const ours = standardHeaders(body, 'svix', { id: 'msg_signed' });
    const headers = { ...ours, 'webhook-id': 'msg_other', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' };
    expect(clerk.verify({ headers, body }, [secrets.clerk])).toBe(true);
    expect(clerk.extractId({ headers, payload: {} })).toBe('msg_signed');
  });
});
