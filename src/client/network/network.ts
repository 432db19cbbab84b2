/**
 * How the HTTP client reaches a host: directly or through a proxy, with the certificates it trusts and the one it presents.
 * The code for anything but plain connections is loaded only when it is needed.
 */
import { Agent, buildConnector, type Dispatcher } from '../../base/undici.ts';
import { connectMilliseconds, type Network } from './network-options.ts';
import { PendingConnections } from './pending-connections.ts';

export type { Certificates, Network, ProxyServer } from './network-options.ts';

/**
 * A dispatcher for requests to any host. The caller destroys it.
 * @throws UsageError for certificates that cannot be used
 */
export async function openDispatcher(network: Network = {}, connections = 8): Promise<Dispatcher> {
  // The caller sets the time limits: one signal covers the whole attempt.
  const limits = { connections, headersTimeout: 0, bodyTimeout: 0 };
  if (network.pinned !== undefined) {
    const { pinnedConnector } = await import('./pinned.ts');
    const connecting = new PendingConnections();
    return connecting.endWith(new Agent({ ...limits, connect: connecting.track(pinnedConnector(network.pinned)) }));
  }
  if (network.proxyFor === undefined && network.certificates === undefined) {
    const connecting = new PendingConnections();
    const connect = connecting.track(buildConnector({ timeout: connectMilliseconds }));
    return connecting.endWith(new Agent({ ...limits, connect }));
  }
  const { NetworkDispatcher } = await import('./network-dispatcher.ts');
  return new NetworkDispatcher(network, limits);
}
