import { describe, expect, test } from 'vitest';
import { isPublicAddress, notationFault, targetFault } from '../../../src/domains/webhooks/target.ts';

const strict = { allowPrivate: false, proxyUrl: undefined };
const open = { allowPrivate: true, proxyUrl: undefined };

describe('a URL', () => {
  test.each(['https://example.com/#part', 'https://example.com\\hook', 'https://example.com\\@other.example/'])(
    '%s is not written as a target',
    (url) => {
      expect(notationFault(url)).toMatch(/fragment or a backslash/);
      expect(notationFault('https://example.com/hook?x=1')).toBeUndefined();
    },
  );

  test.each([
    'https://example.com/hook',
    'https://example.com:8443/hook?x=1',
    'https://example.com:443/',
    'https://1.1.1.1/',
    'https://[2606:4700:4700::1111]/',
    'https://xn--bcher-kva.example/',
  ])('%s is a target', (url) => {
    expect(targetFault(url, strict)).toBeUndefined();
  });

  test.each([
    ...['127.0.0.1', '127.1', '0x7f.1', '0x7f000001', '2130706433', '017700000001', '0177.0.0.1', '0', '0.0.0.0'],
    ...['１２７.０.０.１', '①②⑦.0.0.1', '127。0。0。1', '127.0.0.1.', '%31%32%37.0.0.1'],
    ...['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255', '169.254.169.254'],
    ...['0xa9fea9fe', '2852039166', '192.0.0.8', '192.0.2.1', '198.18.0.1', '198.51.100.7', '203.0.113.9'],
    ...['224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
    ...[
      '[::1]',
      '[::]',
      '[::ffff:7f00:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:8.8.8.8]',
      '[::127.0.0.1]',
      '[0:0:0:0:0:0:0:1]',
    ],
    ...['[fe80::1]', '[fc00::1]', '[fd12:3456::1]', '[ff02::1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::1]'],
    ...['[2001:db8::1]', '[2002:7f00:1::]', '[2001::1]', '[3fff::1]', '[100::1]', '[fec0::1]'],
    ...[
      'localhost',
      'localhost.',
      'LOCALHOST',
      'app.localhost',
      'printer.local',
      'metadata.google.internal',
      'db',
      'x.home.arpa',
    ],
  ])('with the host %s is not a target', (host) => {
    expect(targetFault(`https://${host}/`, strict)).toEqual(expect.any(String));
  });

  test.each([
    ['http://example.com/', /https/],
    ['ftp://example.com/', /https/],
    ['file:///etc/passwd', /https/],
    ['gopher://example.com/', /https/],
    ['https://user:password@example.com/', /credentials/],
    ['https://user@example.com/', /credentials/],
    ['https://example.com:22/', /port/],
    ['https://example.com:6379/', /port/],
    ['/relative', /absolute URL/],
    ['https://', /absolute URL/],
    ['', /absolute URL/],
    [`https://example.com/${'x'.repeat(2_000)}`, /2000 characters/],
  ])('%s is refused with its reason', (url, reason) => {
    expect(targetFault(url, strict)).toMatch(reason);
  });

  test('may be private, http and on any port where that is allowed, but never with credentials', () => {
    for (const url of ['http://127.0.0.1:4000/', 'http://localhost/', 'https://[::1]:9/', 'http://receiver:80/']) {
      expect(targetFault(url, open)).toBeUndefined();
    }
    expect(targetFault('http://user:password@127.0.0.1/', open)).toMatch(/credentials/);
    expect(targetFault('ftp://127.0.0.1/', open)).toMatch(/https/);
  });
});

describe('an address', () => {
  test.each([
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '2606:4700::1',
    '2a00:1450::1',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
  test.each(['::ffff:8.8.8.8', 'fe80::1%eth0', '2606:4700::1%eth0', '', 'example.com', '127.0.0.1', '::1'])(
    '%j is not public',
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );
});
