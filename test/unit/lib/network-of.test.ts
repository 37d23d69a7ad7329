import { expect, test } from 'vitest';
import { networkOf } from '../../../src/lib/network-of.ts';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['::1', '::1'],
  ['::2', '0:0:0:0::/64'],
  ['2001::3:4:5:6:7', '2001:0:0:3::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, ''],
])('the network of %s is %s', (address, network) => expect(networkOf(address)).toBe(network));
