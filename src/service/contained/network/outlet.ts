/**
 * The way out of a sandbox: sockets of the service that are visible in the sandbox, and a bridge inside it that listens on ports. Each
 * start of a program creates an outlet with exactly the destinations of its policy.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ServiceError } from '../../errors.ts';
import { type Guard, guardedConnect, HostNotAllowedError, withoutBrackets } from '../../outbound/guarded-lookup.ts';
import { closer, createProxy, join, type OpenConnection } from '../../outbound/proxy.ts';
import type { Lookup } from '../../outbound/system-lookup.ts';
import { directEndpoint, type LaunchRequest, type ProgramEndpoint } from '../../sandbox/launch.ts';
import type { Mount } from '../bubblewrap.ts';
import { bridgeProgram } from './bridge-file.ts';
import { type Destinations, destinationsOf, type OperatorRules, type ServiceAddress, wholeNetwork } from './destinations.ts';
import { endpointServer } from './endpoint.ts';

export interface OutletOptions {
  operator: OperatorRules;
  lookup?: Lookup | undefined;
  /** Where the service itself listens, which no policy includes. */
  service?: ServiceAddress | undefined;
  /** The path of Node inside the sandbox. */
  node: string;
}

export interface Outlet {
  mounts: readonly Mount[];
  /** The start of the command line, which is followed by the program and its arguments. */
  command: readonly string[];
  /** Variables that contain the URL of the proxy. */
  environment: Readonly<Record<string, string>>;
  /** The endpoint as the sandbox reaches it. */
  endpoint?: ProgramEndpoint;
  /** A folder to remove if the service dies. */
  folder?: string;
  close(): Promise<void>;
}

/** The paths of the sockets and the bridge inside the sandbox. */
const socketFolder = '/run/aops/sockets';
const bridgeFile = '/run/aops/bridge.js';
/** The port of the proxy inside the sandbox; the next free port if the policy uses it. */
const proxyPort = 3128;
/** The time limit for connecting to a host, in milliseconds. */
const connectLimit = 30_000;

const noOutlet: Outlet = { mounts: [], command: [], environment: {}, close: async () => undefined };

/** Throws ServiceError 400 `invalid_network`, and 403 `network_refused` if the operator does not allow the whole network. */
export async function openOutlet({ network = { kind: 'none' }, endpoint }: LaunchRequest, options: OutletOptions): Promise<Outlet> {
  if (network.kind === 'all') {
    if (!options.operator.allowsAll) throw refusedNetwork();
    return { ...noOutlet, ...directEndpoint(endpoint) };
  }
  const destinations = destinationsOf(network.kind === 'hosts' ? network.hosts : [], options.operator, options.service);
  const servers = serversFor(destinations, endpoint, options.lookup);
  if (servers.size === 0) return noOutlet;
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-net-'));
  const closers = [...servers.values()].map((server) => closer(server));
  const close = async (): Promise<void> => {
    await Promise.all(closers.map((closeOne) => closeOne()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const [port, server] of servers) await listen(server, path.join(folder, String(port)));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    mounts: [
      { source: folder, target: socketFolder },
      { source: bridgeProgram.file, target: bridgeFile },
    ],
    command: [options.node, bridgeFile, ...[...servers.keys()].map((port) => `${port}=${socketFolder}/${port}`), '--'],
    environment: destinations.needsProxy ? proxyEnvironment(freePort(destinations, endpoint)) : {},
    ...(endpoint === undefined ? {} : { endpoint: { url: sandboxUrl(endpoint.url) } }),
    folder,
    close,
  };
}

const refusedNetwork = (): ServiceError =>
  new ServiceError(
    403,
    'network_refused',
    `The operator of this service does not allow programs to use the whole network. List the hosts that the program needs, or start the service with \`--allow-agent-host ${wholeNetwork}\`.`,
  );

/** The servers, by the port at which programs in the sandbox reach them. */
function serversFor(destinations: Destinations, endpoint: ProgramEndpoint | undefined, lookup: Lookup | undefined): Map<number, Server> {
  const open = opener(destinations, lookup);
  const servers = new Map<number, Server>();
  for (const { host, port } of destinations.local)
    servers.set(
      port,
      forwarder(() => open(host, port)),
    );
  if (endpoint !== undefined) servers.set(portOf(new URL(endpoint.url)), endpointServer(endpoint));
  if (destinations.needsProxy) servers.set(freePort(destinations, endpoint), createProxy(open));
  return servers;
}

/** Opens connections to the destinations, at addresses that both the policy and the operator allow. */
function opener(destinations: Destinations, lookup: Lookup | undefined): OpenConnection {
  return (urlHost, port) => {
    const host = withoutBrackets(urlHost);
    const guard: Guard = {
      allows: (name, address) => destinations.allows(name, port, address),
      lookup,
      refuse: () => new HostNotAllowedError(`${host}:${port} is not among the hosts that this program can reach.`),
    };
    return guardedConnect(guard, { host, port }, connectLimit);
  };
}

const forwarder = (open: () => ReturnType<OpenConnection>): Server =>
  createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    open().then(
      (upstream) => join(socket, upstream),
      () => socket.destroy(),
    );
  });

function freePort({ local }: Destinations, endpoint: ProgramEndpoint | undefined): number {
  const usedPorts = [...local.map(({ port }) => port), ...(endpoint === undefined ? [] : [portOf(new URL(endpoint.url))])];
  let port = proxyPort;
  while (usedPorts.includes(port)) port++;
  return port;
}

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));

/** The bridge does not use TLS: the connection does not leave the machine. */
const sandboxUrl = (url: string): string => {
  const { pathname, search } = new URL(url);
  return `http://127.0.0.1:${portOf(new URL(url))}${pathname}${search}`;
};

/** The proxy variables in both spellings that programs read. Local destinations are excluded, because they are on the sandbox's own loopback. */
function proxyEnvironment(port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const noProxy = 'localhost,127.0.0.1,::1';
  return {
    ...{ HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: noProxy },
    ...{ http_proxy: url, https_proxy: url, all_proxy: url, no_proxy: noProxy },
    NODE_USE_ENV_PROXY: '1',
  };
}

const listen = (server: Server, socket: string): Promise<void> =>
  new Promise((resolve, reject) => server.once('error', reject).listen(socket, resolve));
