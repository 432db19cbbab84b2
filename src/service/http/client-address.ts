/**
 * The address that a request came from, only for rate limits, connection limits and the log: an address does not prove an
 * identity. It is the peer's address, or the one that the peer reports if it is a proxy that the operator trusts.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { BoundedCache } from '../../base/bounded-cache.ts';
import { UsageError } from '../../base/errors.ts';
import { holderOf, isIn, type Network, parseAddress, parseNetwork } from '../addresses.ts';

export interface ReceivedRequest {
  socket: { remoteAddress?: string | undefined };
  headers?: IncomingHttpHeaders;
}

/** Number of peers to cache, so that their addresses need not be parsed for each request. */
const maxPeers = 1_000;

interface Peer {
  /** In canonical form. */
  address: string;
  /** The network whose addresses all belong to one client; see `holderOf`. */
  holder: string;
  isTrusted: boolean;
}

export class TrustedProxies {
  readonly #networks: Network[];
  readonly #peers = new BoundedCache<Peer>(maxPeers);

  /** @throws UsageError `trusted_proxy_invalid` for a word that is neither an address nor a range of addresses */
  constructor(words: readonly string[] = []) {
    this.#networks = words.map(networkOf);
  }

  /** Whether connections from this address carry requests of many clients, so that they are not limited by address. */
  trusts(address: string | undefined): boolean {
    return this.#peer(address ?? '').isTrusted;
  }

  /** The address of the client that sent a request; `unknown` when its connection is already closed. */
  clientAddress({ socket, headers = {} }: ReceivedRequest): string {
    const { address: peer, isTrusted } = this.#peer(socket.remoteAddress ?? '');
    if (!isTrusted) return peer;
    const lists = [xForwardedFor(headers['x-forwarded-for']), forwardedFor(headers.forwarded)].filter((list) => list !== undefined);
    const [first, second] = lists.map((hops) => this.#lastUntrusted(peer, hops));
    // A proxy sets one of the two headers and may pass on the client's value of the other, so neither is trusted when they differ.
    return first === undefined || (second !== undefined && second !== first) ? peer : first;
  }

  /** The client as counted by limits: the network whose addresses all belong to one client. See `holderOf`. */
  client(request: ReceivedRequest): string {
    return this.#peer(this.clientAddress(request)).holder;
  }

  #peer(text: string): Peer {
    let peer = this.#peers.get(text);
    if (peer === undefined) {
      peer = this.#parse(text);
      this.#peers.set(text, peer);
    }
    return peer;
  }

  #parse(text: string): Peer {
    const address = parseAddress(text);
    if (address === undefined) return { address: 'unknown', holder: 'unknown', isTrusted: false };
    const isTrusted = this.#networks.some((network) => isIn(address, network));
    return { address: address.toString(), holder: holderOf(address), isTrusted };
  }

  /** Walks back from the peer, hop by hop, as long as the hop that reports the next one is trusted. */
  #lastUntrusted(peer: string, hops: readonly string[]): string {
    let current = peer;
    for (const hop of hops.toReversed()) {
      const address = addressOfHop(hop);
      if (!this.trusts(current) || address === undefined) break;
      current = address;
    }
    return current;
  }
}

function networkOf(word: string): Network {
  const network = parseNetwork(word);
  if (network !== undefined) return network;
  throw new UsageError(
    `"${word}" is not the address of a proxy.`,
    'Pass an address (127.0.0.1, ::1) or a range of addresses (10.0.0.0/8).',
    'trusted_proxy_invalid',
  );
}

/** The hops of X-Forwarded-For, the nearest one last. */
const xForwardedFor = (header: string | string[] | undefined): string[] | undefined =>
  header === undefined ? undefined : [header].flat().join(',').split(',');

/** The `for` parameters of a Forwarded header (RFC 7239 section 4), the nearest one last; '' for an element without it. */
function forwardedFor(header: string | undefined): string[] | undefined {
  if (header === undefined) return undefined;
  return elementsOf(header).map(forParameter);
}

/** A parameter and the semicolon after it. A quoted value may contain anything: a proxy may report the Host header that a client invented. */
const parameter = /\s*([^\s=;"]+)=(?:"((?:\\.|[^"\\])*)"|([^;"\s]*))\s*(?:;|$)/gy;

function forParameter(element: string): string {
  for (const [, name = '', quotedValue, plainValue = ''] of element.matchAll(parameter))
    if (name.toLowerCase() === 'for') return quotedValue?.replace(/\\(.)/g, '$1') ?? plainValue;
  return '';
}

/**
 * The elements of a list with quoted strings. It is parsed from the end: the proxy's addition there is well-formed, but an open
 * quote in the client's part before it would swallow it.
 */
function elementsOf(list: string): string[] {
  const elements: string[] = [];
  let end = list.length;
  let isQuoted = false;
  for (let index = list.length - 1; index >= 0; index--) {
    if (list[index] === '"') isQuoted = !isQuoted;
    if (list[index] !== ',' || isQuoted) continue;
    elements.push(list.slice(index + 1, end));
    end = index;
  }
  return [...elements, list.slice(0, end)].reverse();
}

/** A hop may have a port, and an IPv6 address brackets (RFC 7239 section 6). Names such as `unknown` and `_hidden` are not addresses. */
function addressOfHop(hop: string): string | undefined {
  const [, ipv6, ipv4] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(hop.trim()) ?? [];
  return parseAddress(ipv6 ?? ipv4 ?? hop.trim())?.toString();
}
