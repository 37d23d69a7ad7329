import { BlockList, isIP } from 'node:net';

/** Where webhooks may be sent to. */
export interface TargetPolicy {
  /** Allows http, every port and every address. For development and trusted networks. */
  allowPrivate: boolean;
  /** An HTTP proxy that makes all connections, and then decides about addresses of names. */
  proxyUrl: string | undefined;
}

const ports: ReadonlySet<string> = new Set(['', '80', '443', '8443']);
export const urlCharsMax = 2_000;

/** IPv4 networks that are not global (IANA IPv4 Special-Purpose Address Registry), and multicast. */
const privateV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/**
 * Networks within 2000::/3 that are not global or carry an IPv4 address (IANA IPv6 Special-Purpose
 * Address Registry). Everything outside 2000::/3 is refused: loopback, IPv4-mapped, NAT64, local, multicast.
 */
const privateV6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

// One list for each family: Node compares addresses of one family with mapped rules of the other.
const refusedV4 = new BlockList();
for (const [network, prefix] of privateV4) refusedV4.addSubnet(network, prefix, 'ipv4');
const refusedV6 = new BlockList();
for (const [network, prefix] of privateV6) refusedV6.addSubnet(network, prefix, 'ipv6');
const globalV6 = new BlockList();
globalV6.addSubnet('2000::', 3, 'ipv6');

/** Returns whether an IP address is on the public internet. False for what is not an address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refusedV4.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return globalV6.check(address, 'ipv6') && !refusedV6.check(address, 'ipv6');
}

/**
 * Returns why a URL is not allowed as a target, or undefined. The parser of URLs normalizes every
 * notation of an IPv4 address. A name is checked again after its resolution.
 */
export function targetFault(url: string, { allowPrivate }: TargetPolicy): string | undefined {
  const target = url.length <= urlCharsMax && URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined) return `must be an absolute URL of at most ${urlCharsMax} characters`;
  const { protocol, username, password, port } = target;
  if (protocol !== 'https:' && !(allowPrivate && protocol === 'http:')) return 'must use https';
  if (username !== '' || password !== '') return 'must not contain credentials';
  if (allowPrivate) return undefined;
  if (!ports.has(port)) return 'must use the port 443, 8443 or 80';
  return isPublicHost(hostOf(target)) ? undefined : 'must not be a private, loopback or reserved address';
}

/**
 * Returns why a new target may not be written so, or undefined. A parser reads a backslash as a slash, so the
 * host may not be the one that a person reads, and a fragment is never sent.
 */
export function notationFault(url: string): string | undefined {
  return /[\\#]/.test(url) ? 'must not contain a fragment or a backslash' : undefined;
}

/** Returns the host of a URL without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Names that never leave a network (RFC 6761, RFC 6762, RFC 9476 and the private-use `internal`). */
const localName = /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion|alt)$/;

function isPublicHost(host: string): boolean {
  if (isIP(host) !== 0) return isPublicAddress(host);
  const name = host.replace(/\.$/, '');
  return name.includes('.') && !localName.test(name);
}
