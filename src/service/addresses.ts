/** What kind of network an IP address belongs to. Whatever connects to where others say asks here before it does. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address in the form that URLs and resolvers use, with IPv4 in IPv6 unwrapped; undefined if it is not an address. */
export function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  // The library alone would also take other notations, which nobody who resolves names gives.
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare);
}

/** `::a.b.c.d` is no longer a public address (RFC 4291, 2.5.5.1), but the library treats it as one. */
const compatible: [Address, number] = [ipaddr.IPv6.parse('::'), 96];

/**
 * Addresses at which clouds hand out credentials and settings to their machines, beyond the link-local ones: Azure's WireServer,
 * Alibaba's metadata, and those over IPv6 of AWS, Google, Oracle and Scaleway. They lie in ranges that are harmless elsewhere.
 */
const cloudServices: Network[] = [
  '168.63.129.16',
  '100.100.100.200',
  'fd00:ec2::/32',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
].map((word) => parseNetwork(word) as Network);

/** The name of an address's range: `unicast` is the public internet; `loopback`, `private`, `linkLocal`, `cloud` ... are not. */
export function rangeOf(address: Address): string {
  if (cloudServices.some((network) => isIn(address, network))) return 'cloud';
  const range = address.range();
  return range === 'unicast' && address.kind() === 'ipv6' && address.match(...compatible) ? 'reserved' : range;
}

/** Whether an address belongs to the public internet. */
export function isPublic(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && rangeOf(address) === 'unicast';
}

/** A network: an address, and how many of its leading bits count. */
export type Network = [Address, number];

/** The network that a word names: an address (IPv6 also in brackets) or a range such as `10.0.0.0/8`; undefined for anything else. */
export function parseNetwork(word: string): Network | undefined {
  const bare = word.trim().replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValidCIDR(bare)) return ipaddr.parseCIDR(bare);
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return undefined;
  const address = ipaddr.process(bare);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Whether an address belongs to a network. */
export function isIn(address: Address, [network, bits]: Network): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

/**
 * Whom an address stands for when clients are counted by address. Whoever has one address of IPv6 has the 2^64 addresses around it,
 * too (RFC 4291 section 2.5.1), so these are one client: `2001:db8::/64`.
 */
export const holderOf = (address: Address): string =>
  'parts' in address ? `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0])}/64` : address.toString();
