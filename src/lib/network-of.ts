import { isIPv6 } from 'node:net';

/** Groups of an IPv6 address that one customer gets (RFC 6177: a /64 or more). */
const networkGroups = 4;

/**
 * Returns what counts as one caller without credentials: an IPv4 address, or the /64 of an IPv6 address, of which one
 * caller has 2^64 addresses. The own address of the machine stays as it is. It is '' for a connection that has ended.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return '';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address) || address === '::1') return mapped ?? address;
  const [withoutZone = ''] = address.split('%', 1);
  const [left = '', right] = withoutZone.split('::');
  const groups = left === '' ? [] : left.split(':');
  const after = right === undefined || right === '' ? 0 : right.split(':').length;
  // What comes after the zeros begins within the first four groups only if it has more than four itself.
  const rest = after > networkGroups ? (right ?? '').split(':') : [];
  const zeros = right === undefined ? 0 : 8 - groups.length - after;
  const whole = [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...rest];
  return `${whole.slice(0, networkGroups).join(':')}::/64`;
}
