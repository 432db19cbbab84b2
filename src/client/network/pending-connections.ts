/** Connections in progress. undici does not abort them when it is destroyed, and they would keep the process alive until they end. */
import type { Socket } from 'node:net';
import type { Connector, Dispatcher } from '../../base/undici.ts';

type Connect = Connector.connector;

export class PendingConnections {
  readonly #sockets = new Set<Socket>();

  /** The same connector, except that `end` aborts its connections in progress. */
  track(connect: Connect): Connect {
    return (options, callback) => {
      // It returns the socket, although its type does not say so.
      const socket = connect(options, (...result) => {
        this.#sockets.delete(socket);
        callback(...result);
      }) as unknown as Socket;
      this.#sockets.add(socket);
    };
  }

  /** Aborts all connections in progress. */
  end(): void {
    for (const socket of this.#sockets) socket.destroy(new Error('the connection was abandoned'));
    this.#sockets.clear();
  }

  /** Makes the destruction of a dispatcher abort its connections in progress. */
  endWith<Target extends Dispatcher>(dispatcher: Target): Target {
    const destroy = dispatcher.destroy.bind(dispatcher) as (...args: unknown[]) => Promise<void>;
    // `destroy` calls itself with a callback.
    dispatcher.destroy = ((...args: unknown[]) => {
      this.end();
      return destroy(...args);
    }) as Target['destroy'];
    return dispatcher;
  }
}
