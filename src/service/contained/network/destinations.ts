/** The hosts that a program can connect to: those that its policy lists, as far as the operator of the service allows them. */
import { networkInterfaces } from 'node:os';
import { parseAddress, rangeOf } from '../../addresses.ts';
import { ServiceError } from '../../errors.ts';
import { HostRules } from '../../outbound/host-rules.ts';

/** The operator's word for the whole network of the host, without a proxy. */
export const wholeNetwork = 'all';

/** The hosts that the operator allows. */
export class OperatorRules {
  readonly allowsAll: boolean;
  readonly #rules: HostRules;

  /** @throws UsageError `agent_host_invalid` */
  constructor(words: readonly string[]) {
    this.allowsAll = words.includes(wholeNetwork);
    this.#rules = new HostRules(
      words.filter((word) => word !== wholeNetwork),
      'agent',
    );
  }

  allows(host: string, address: string): boolean {
    return this.#rules.allows(host, address);
  }
}

/** The address at which the service itself listens. */
export interface ServiceAddress {
  host: string;
  port: number;
}

/** A loopback host with a port, which programs reach at the same address. */
export interface LocalDestination {
  host: string;
  port: number;
}

export interface Destinations {
  local: LocalDestination[];
  /** Whether the policy lists any hosts besides local ones. */
  needsProxy: boolean;
  allows(host: string, port: number, address: string): boolean;
}

/** The ports of a host that is listed without a port. */
const defaultPorts = [80, 443];

/**
 * The destinations for the hosts of a policy. The service itself is never one of them: with a token, a program could answer its own
 * requests. It reaches the MCP endpoint in another way. Throws ServiceError 400 `invalid_network` for an entry that is not a host.
 */
export function destinationsOf(hosts: readonly string[], operator: OperatorRules, service?: ServiceAddress): Destinations {
  const entries = hosts.map((entry) => {
    const [host, port] = split(entry);
    return { host, port, rules: rulesFor(host, entry) };
  });
  const isLocal = (host: string, port: number | undefined): port is number => port !== undefined && isLoopback(host);
  return {
    local: entries.flatMap(({ host, port }) => (isLocal(host, port) ? [{ host, port }] : [])),
    needsProxy: entries.some(({ host, port }) => !isLocal(host, port)),
    allows: (host, port, address) =>
      !(port === service?.port && isThisMachine(address, service)) &&
      operator.allows(host, address) &&
      entries.some(
        (entry) => (entry.port === undefined ? defaultPorts.includes(port) : entry.port === port) && entry.rules.allows(host, address),
      ),
  };
}

/** Splits an entry such as `[::1]:80` or `a.example:80`. A range, or an IPv6 address without brackets, has no port. */
function split(entry: string): [host: string, port: number | undefined] {
  const [, host, port] = /^(\[[^\]]+\]|[^:/]+):(\d{1,5})$/.exec(entry.trim()) ?? [];
  return host === undefined ? [entry.trim(), undefined] : [host, Number(port)];
}

function isLoopback(host: string): boolean {
  const address = parseAddress(host);
  return host.toLowerCase() === 'localhost' || (address !== undefined && rangeOf(address) === 'loopback');
}

/** Whether connections to an address can arrive at the service, also if it listens at all addresses. */
function isThisMachine(address: string, { host }: ServiceAddress): boolean {
  const parsedAddress = parseAddress(address);
  if (parsedAddress === undefined) return false;
  if (['loopback', 'unspecified'].includes(rangeOf(parsedAddress))) return true;
  const ownAddresses = Object.values(networkInterfaces()).flatMap((entries) => entries?.map((entry) => entry.address) ?? []);
  return [host, ...ownAddresses].some((own) => parseAddress(own)?.toString() === parsedAddress.toString());
}

function rulesFor(host: string, entry: string): HostRules {
  try {
    return new HostRules([host], 'agent');
  } catch {
    throw new ServiceError(
      400,
      'invalid_network',
      `"${entry}" is not a valid host. Use a name (api.example.com), all names below one (*.example.com), an address, a range (10.0.0.0/8), or public, with a port if it is neither 80 nor 443.`,
    );
  }
}
