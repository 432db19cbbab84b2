/**
 * A dispatcher that chooses how to reach each host: with or without a proxy, with or without a client certificate. It builds
 * on undici's Agent and ProxyAgent, and gives failures of a proxy their own error: the service has not seen the request then.
 */
import * as tls from 'node:tls';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Pool as UndiciPool, ProxyAgent as UndiciProxyAgent } from 'undici';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';
import PoolClass from 'undici/lib/dispatcher/pool.js';
import ProxyAgentClass from 'undici/lib/dispatcher/proxy-agent.js';
import { UsageError } from '../../base/errors.ts';
import { Agent, type AgentOptions, buildConnector, type Dispatcher } from '../../base/undici.ts';
import { ProxyError } from './connection-errors.ts';
import { type Certificates, connectMilliseconds, type Network, type ProxyServer } from './network-options.ts';
import { PendingConnections } from './pending-connections.ts';

const ProxyAgent = ProxyAgentClass as unknown as typeof UndiciProxyAgent;
const Pool = PoolClass as unknown as typeof UndiciPool;
const Base = DispatcherClass as unknown as typeof Dispatcher;

/** The options of a TLS connection; without a context, Node's defaults apply. */
interface TlsOptions {
  timeout: number;
  secureContext?: SecureContext;
}

export class NetworkDispatcher extends Base {
  readonly #network: Network;
  readonly #limits: AgentOptions;
  readonly #connecting = new PendingConnections();
  readonly #dispatchers = new Map<string, Dispatcher>();
  readonly #default: TlsOptions;
  readonly #clientTls: TlsOptions;

  /** @throws UsageError for a certificate and a key that do not belong together */
  constructor(network: Network, limits: AgentOptions) {
    super();
    this.#network = network;
    this.#limits = limits;
    const { authorities, client } = network.certificates ?? {};
    this.#default = tlsOptions(authorities);
    this.#clientTls = client ? tlsOptions(authorities, client) : this.#default;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#dispatcherFor(new URL(String(options.origin))).dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.close()));
  }

  override async destroy(): Promise<void> {
    this.#connecting.end();
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
  }

  #dispatcherFor(url: URL): Dispatcher {
    const proxy = this.#network.proxyFor?.(url);
    const sendsCertificate = this.#network.certificates?.client?.origins.includes(url.origin) === true;
    const name = `${sendsCertificate} ${proxy?.origin ?? 'direct'}`;
    const existing = this.#dispatchers.get(name);
    if (existing) return existing;
    const connect = sendsCertificate ? this.#clientTls : this.#default;
    const dispatcher = proxy
      ? this.#proxyDispatcher(proxy, connect)
      : new Agent({ ...this.#limits, connect: this.#connecting.track(buildConnector(connect)) });
    this.#dispatchers.set(name, dispatcher);
    return dispatcher;
  }

  /** Options with which connections to the proxy are aborted together with the dispatcher. */
  #tracked(poolOptions: UndiciPool.Options): UndiciPool.Options {
    return typeof poolOptions.connect === 'function'
      ? { ...poolOptions, connect: this.#connecting.track(poolOptions.connect) }
      : poolOptions;
  }

  #proxyDispatcher(proxy: ProxyServer, requestTls: TlsOptions): Dispatcher {
    const options: UndiciProxyAgent.Options = {
      ...this.#limits,
      uri: proxy.origin,
      requestTls: requestTls as UndiciProxyAgent.Options['requestTls'] & object,
      proxyTls: this.#default as UndiciProxyAgent.Options['proxyTls'] & object,
      // Plain http needs no tunnel, and many proxies allow tunnels to port 443 only.
      proxyTunnel: false,
      clientFactory: (origin, poolOptions) => tunnelling(new Pool(origin, this.#tracked(poolOptions as UndiciPool.Options)), proxy),
      ...(proxy.login ? { token: `Basic ${Buffer.from(`${proxy.login.user}:${proxy.login.password}`).toString('base64')}` } : {}),
    };
    return new ProxyAgent(options);
  }
}

/**
 * Distinguishes failures before the tunnel is established from failures in it. Without this, undici would retry forever
 * when a proxy hangs up, and would report an answer such as 407 as an abort.
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
    // One context for all connections, because parsing the authorities takes a while.
    const secureContext = createSecureContext({
      ...(authorities === undefined ? {} : { ca: [...defaultAuthorities(), authorities] }),
      ...(client === undefined ? {} : { cert: client.certificate, key: client.key }),
    });
    return { timeout, secureContext };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `The client certificate cannot be used with its key (${code ?? 'unknown error'}).`,
      'Pass the certificate with --client-cert and its own unencrypted private key with --client-key, both as PEM.',
    );
  }
}

/** The authorities that Node trusts by default. Newer versions report them exactly, including the system's store if it is enabled. */
function defaultAuthorities(): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  return getCACertificates?.('default') ?? rootCertificates;
}
