/**
 * The hosts to which the service may connect for webhooks and connections. An address is checked right before the connection, so a
 * name whose address changes in between gains nothing. Only what the operator specified is allowed. That includes loopback, because
 * on a server it is often the only protection of what listens there.
 */
import { UsageError } from '../../base/errors.ts';
import { isIn, type Network, parseAddress, parseNetwork, rangeOf } from '../addresses.ts';

/** Every address of the public internet. */
const publicWord = 'public';
/** This machine: 127.0.0.0/8 and ::1. */
const loopbackWord = 'loopback';

/** What an allowed name can resolve to. The rest (link-local, multicast, reserved ...) needs an explicit range. */
const namedRanges = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']);

/** The shortest word that would allow a host. */
export function wordFor(host: string): string {
  const address = parseAddress(host);
  return address !== undefined && rangeOf(address) === 'loopback' ? loopbackWord : host;
}

/** What the rules are for, in the error about an invalid word: `webhook`, `connection`, `agent`. */
export type RulesFor = 'webhook' | 'connection' | 'agent';

export class HostRules {
  readonly #names = new Set<string>();
  readonly #suffixes: string[] = [];
  readonly #networks: Network[] = [];
  #public = false;
  #loopback = false;

  /** @throws UsageError `webhook_host_invalid`, `connection_host_invalid`, `agent_host_invalid` for a word that is not a host, address, range, or `public` */
  constructor(words: readonly string[] = [], use: RulesFor = 'webhook') {
    for (const word of words) this.#add(word, use);
  }

  /** Whether the service may connect to this address for a URL with this host. */
  allows(host: string, address: string): boolean {
    const parsedAddress = parseAddress(address);
    if (parsedAddress === undefined) return false;
    const range = rangeOf(parsedAddress);
    if (this.#loopback && range === 'loopback') return true;
    if (this.#networks.some((network) => isIn(parsedAddress, network))) return true;
    if (this.#public && range === 'unicast') return true;
    return this.#allowsName(host) && (range === 'unicast' || namedRanges.has(range));
  }

  #allowsName(host: string): boolean {
    const name = host.toLowerCase().replace(/\.$/, '');
    return this.#names.has(name) || this.#suffixes.some((suffix) => name.endsWith(suffix));
  }

  #add(word: string, use: RulesFor): void {
    const text = word.trim().toLowerCase().replace(/\.$/, '');
    const network = parseNetwork(text);
    if (text === publicWord) this.#public = true;
    else if (text === loopbackWord) this.#loopback = true;
    else if (network !== undefined) this.#networks.push(network);
    else if (hostName.test(text)) this.#names.add(text);
    else if (text.startsWith('*.') && hostName.test(text.slice(2))) this.#suffixes.push(text.slice(1));
    else
      throw new UsageError(
        `"${word}" is not a valid host for ${use}s.`,
        'Use a name (hooks.example.com), all names below one (*.example.com), an address, a range (10.0.0.0/8), loopback, or public.',
        `${use}_host_invalid`,
      );
  }
}

// A last label that consists of digits would be part of an IP address in some notation.
const hostName = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*(?!\d+$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
