/**
 * A dispatcher that picks the way to each host: proxy or none, client certificate or none. It stands on undici's Agent
 * and ProxyAgent, and gives the failures of a proxy a name of their own: the service has seen nothing then.
 */

import * as tls from 'node:tls';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Pool as UndiciPool, ProxyAgent as UndiciProxyAgent } from 'undici';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';
import PoolClass from 'undici/lib/dispatcher/pool.js';
import ProxyAgentClass from 'undici/lib/dispatcher/proxy-agent.js';
import { UsageError } from '../../base/errors.ts';
import { Agent, type AgentOptions, buildConnector, type Dispatcher } from '../../base/undici.ts';
import { Connecting } from './connecting.ts';
import { ProxyError } from './connection-errors.ts';
import { type Certificates, connectMilliseconds, type Network, type ProxyServer } from './network-options.ts';

const ProxyAgent = ProxyAgentClass as unknown as typeof UndiciProxyAgent;
const Pool = PoolClass as unknown as typeof UndiciPool;
const Base = DispatcherClass as unknown as typeof Dispatcher;

/** What a TLS connection is made with; without a context Node's defaults. */
interface TlsOptions {
  timeout: number;
  secureContext?: SecureContext;
}

export class NetworkDispatcher extends Base {
  readonly #network: Network;
  readonly #limits: AgentOptions;
  readonly #connecting = new Connecting();
  readonly #ways = new Map<string, Dispatcher>();
  readonly #anybody: TlsOptions;
  readonly #identified: TlsOptions;

  /** @throws UsageError for a certificate and a key that do not fit */
  constructor(network: Network, limits: AgentOptions) {
    super();
    this.#network = network;
    this.#limits = limits;
    const { authorities, client } = network.certificates ?? {};
    this.#anybody = tlsOptions(authorities);
    this.#identified = client ? tlsOptions(authorities, client) : this.#anybody;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#wayTo(new URL(String(options.origin))).dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all([...this.#ways.values()].map((way) => way.close()));
  }

  override async destroy(): Promise<void> {
    this.#connecting.end();
    await Promise.all([...this.#ways.values()].map((way) => way.destroy()));
  }

  #wayTo(url: URL): Dispatcher {
    const proxy = this.#network.proxyFor?.(url);
    const identified = this.#network.certificates?.client?.origins.includes(url.origin) === true;
    const name = `${identified} ${proxy?.origin ?? 'direct'}`;
    const known = this.#ways.get(name);
    if (known) return known;
    const connect = identified ? this.#identified : this.#anybody;
    const way = proxy
      ? this.#through(proxy, connect)
      : new Agent({ ...this.#limits, connect: this.#connecting.track(buildConnector(connect)) });
    this.#ways.set(name, way);
    return way;
  }

  /** Options whose connections to the proxy are given up with the dispatcher. */
  #tracked(given: UndiciPool.Options): UndiciPool.Options {
    return typeof given.connect === 'function' ? { ...given, connect: this.#connecting.track(given.connect) } : given;
  }

  #through(proxy: ProxyServer, requestTls: TlsOptions): Dispatcher {
    const options: UndiciProxyAgent.Options = {
      ...this.#limits,
      uri: proxy.origin,
      requestTls: requestTls as UndiciProxyAgent.Options['requestTls'] & object,
      proxyTls: this.#anybody as UndiciProxyAgent.Options['proxyTls'] & object,
      // Plain http needs no tunnel, and many proxies allow tunnels to port 443 only.
      proxyTunnel: false,
      clientFactory: (origin, given) => tunnelling(new Pool(origin, this.#tracked(given as UndiciPool.Options)), proxy),
      ...(proxy.login ? { token: `Basic ${Buffer.from(`${proxy.login.user}:${proxy.login.password}`).toString('base64')}` } : {}),
    };
    return new ProxyAgent(options);
  }
}

/**
 * Tells what goes wrong before the tunnel stands from what happens in it. Without this undici would try again for ever
 * when a proxy hangs up, and an answer like 407 would pass for an abort.
 */
function tunnelling(pool: UndiciPool, proxy: ProxyServer): UndiciPool {
  const connect = pool.connect.bind(pool) as (options: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;
  pool.connect = (async (options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> => {
    const signal = AbortSignal.timeout(connectMilliseconds);
    const data = await connect({ ...options, signal }).catch((error: unknown) => {
      throw new ProxyError(proxy, { cause: error });
    });
    if (data.statusCode === 200) return data;
    data.socket.on('error', () => undefined).destroy();
    throw new ProxyError(proxy, { status: data.statusCode });
  }) as UndiciPool['connect'];
  return pool;
}

function tlsOptions(authorities: string | undefined, client?: Certificates['client']): TlsOptions {
  const timeout = connectMilliseconds;
  if (authorities === undefined && client === undefined) return { timeout };
  try {
    // One context for all connections: reading the authorities takes a while.
    const secureContext = createSecureContext({
      ...(authorities === undefined ? {} : { ca: [...defaultAuthorities(), authorities] }),
      ...(client === undefined ? {} : { cert: client.certificate, key: client.key }),
    });
    return { timeout, secureContext };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `The client certificate cannot be used with its key (${code ?? 'unknown error'}).`,
      'Give the certificate with --client-cert and its own private key, unencrypted, with --client-key; both as PEM.',
    );
  }
}

/** What Node trusts by itself. Newer versions can tell exactly, with the system's store where it was asked for. */
function defaultAuthorities(): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  return getCACertificates?.('default') ?? rootCertificates;
}
