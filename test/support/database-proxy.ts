/** A proxy in front of a Postgres server, whose connections can break at any moment. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { afterTest } from './temporary.ts';

export class DatabaseProxy {
  /** The URL of the database through the proxy. */
  readonly url: string;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #lostStatement: string | undefined;

  private constructor(url: string) {
    this.url = url;
  }

  /** Listens until the end of the test. @param database the URL of a database */
  static async to(database: string): Promise<DatabaseProxy> {
    const server = createServer((socket) => proxy.#pass(socket, connectTo(new URL(database))));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(database);
    url.searchParams.delete('host');
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const proxy = new DatabaseProxy(url.href);
    afterTest(() => {
      proxy.cut();
      server.close();
    });
    return proxy;
  }

  /** Breaks all connections, and accepts no others until `restore` is called. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  /** Breaks the connection that next sends a statement, after the database has executed it and before its answer arrives. */
  loseAnswerTo(statement: string): void {
    this.#lostStatement = statement;
  }

  #pass(client: Socket, server: Socket): void {
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    if (this.#isCut) {
      end();
      return;
    }
    let isLost = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    client.on('data', (bytes) => {
      if (this.#lostStatement !== undefined && bytes.includes(this.#lostStatement)) {
        isLost = true;
        this.#lostStatement = undefined;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (isLost) end();
      else client.write(bytes);
    });
  }
}

function connectTo(url: URL): Socket {
  const folder = url.searchParams.get('host');
  const port = Number(url.port === '' ? 5_432 : url.port);
  return folder === null ? connect(port, url.hostname) : connect(path.join(folder, `.s.PGSQL.${port}`));
}
