/** Connections that are still being made. undici leaves them alone when it ends, and they would keep the process for as long as they take. */
import type { Socket } from 'node:net';
import type { Connector, Dispatcher } from '../../base/undici.ts';

type Connect = Connector.connector;

export class Connecting {
  readonly #sockets = new Set<Socket>();

  /** The same way to connect, whose connections `end` gives up. */
  track(connect: Connect): Connect {
    return (options, done) => {
      // It returns the socket, which its type does not say.
      const socket = connect(options, (...result) => {
        this.#sockets.delete(socket);
        done(...result);
      }) as unknown as Socket;
      this.#sockets.add(socket);
    };
  }

  /** Gives up what is not connected yet. */
  end(): void {
    for (const socket of this.#sockets) socket.destroy(new Error('given up'));
    this.#sockets.clear();
  }

  /** Lets the end of a dispatcher be that of its connections. */
  endWith<Ended extends Dispatcher>(dispatcher: Ended): Ended {
    const destroy = dispatcher.destroy.bind(dispatcher) as (...given: unknown[]) => Promise<void>;
    // It calls itself with a callback.
    dispatcher.destroy = ((...given: unknown[]) => {
      this.end();
      return destroy(...given);
    }) as Ended['destroy'];
    return dispatcher;
  }
}
