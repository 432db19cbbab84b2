/** Determines the kind of network that an IP address belongs to. Everything that connects to user-specified hosts checks this first. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address in the form that URLs and resolvers use, with IPv4 in IPv6 unwrapped; undefined if it is not an address. */
export function parseAddress(text: string): Address | undefined {
  const address = text.replace(/^\[(.*)\]$/, '$1');
  // The library alone would also accept other notations, which resolvers never return.
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
}

/** `::a.b.c.d` is no longer a public address (RFC 4291, 2.5.5.1), but the library treats it as one. */
const ipv4CompatibleRange: [Address, number] = [ipaddr.IPv6.parse('::'), 96];

/**
 * Addresses, other than link-local ones, at which cloud providers serve credentials and settings to their machines: Azure's
 * WireServer, Alibaba's metadata, and the IPv6 addresses of AWS, Google, Oracle, and Scaleway. Elsewhere, their ranges are harmless.
 */
const cloudServices: Network[] = [
  '168.63.129.16',
  '100.100.100.200',
  'fd00:ec2::/32',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
].map((word) => parseNetwork(word) as Network);

/** The name of an address's range: `unicast` is the public internet; `loopback`, `private`, `linkLocal`, `cloud`, and others are not. */
export function rangeOf(address: Address): string {
  if (cloudServices.some((network) => isIn(address, network))) return 'cloud';
  const range = address.range();
  return range === 'unicast' && address.kind() === 'ipv6' && address.match(...ipv4CompatibleRange) ? 'reserved' : range;
}

/** Whether an address belongs to the public internet. */
export function isPublic(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && rangeOf(address) === 'unicast';
}

/** A network: an address, and the number of its leading bits that identify the network. */
export type Network = [Address, number];

/** The network that a word names: an address (IPv6 also in brackets) or a range such as `10.0.0.0/8`; undefined for anything else. */
export function parseNetwork(word: string): Network | undefined {
  const text = word.trim().replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Whether an address belongs to a network. */
export function isIn(address: Address, [network, bits]: Network): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

/**
 * The client that an address represents when clients are counted by address. The holder of an IPv6 address also has the 2^64
 * addresses around it (RFC 4291 section 2.5.1), so all of them count as one client: `2001:db8::/64`.
 */
export const holderOf = (address: Address): string =>
  'parts' in address ? `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0])}/64` : address.toString();
