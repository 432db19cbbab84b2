/**
 * Lets a browser reach public addresses only. All its requests go through this proxy, which looks up a name once, checks the
 * addresses, and connects to one of the checked ones: a name of a private address, a redirect to one, or a name that changes its
 * address does not get through.
 */
import { type AddressInfo, connect, isIP, type Socket } from 'node:net';
import { isPublic } from '../addresses.ts';
import { HostNotAllowedError, withoutBrackets } from '../outbound/guarded-lookup.ts';
import { closer, createProxy } from '../outbound/proxy.ts';
import { systemLookup } from '../outbound/system-lookup.ts';

export interface PublicProxy {
  url: string;
  /** The refused hosts, as `host:port`. */
  refusedHosts: ReadonlySet<string>;
  close(): Promise<void>;
}

/** The maximum number of refused hosts that are recorded. */
const maxRefused = 1_000;

export interface ProxyOptions {
  /** The addresses of a name; an empty list if it is unknown. */
  resolve?: (name: string) => Promise<string[]>;
  isAllowed?: (address: string) => boolean;
}

/** Starts a proxy on a free port of this machine. */
export async function startPublicProxy({ resolve = addressesOf, isAllowed = isPublic }: ProxyOptions = {}): Promise<PublicProxy> {
  const refusedHosts = new Set<string>();
  const server = createProxy(async (host, port) => {
    const addresses = await resolve(withoutBrackets(host));
    const [first] = addresses;
    // A single private address is enough to distrust the name.
    if (first !== undefined && addresses.every(isAllowed)) return openSocket(first, port);
    const name = port === 80 || port === 443 ? host : `${host}:${port}`;
    if (first !== undefined && refusedHosts.size < maxRefused) refusedHosts.add(name);
    throw new HostNotAllowedError(`${name} is unknown or not a public address.`);
  });
  const close = closer(server);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refusedHosts, close };
}

function openSocket(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    // Errors after the connection are those of its user, who learns of them from its end.
    socket.on('error', reject).once('connect', () => resolve(socket));
  });
}

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  return new Promise((resolve) => {
    systemLookup(host, { all: true }, (error, addresses) => resolve(error ? [] : addresses.map(({ address }) => address)));
  });
}
