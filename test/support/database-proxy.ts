/** A proxy in front of a Postgres server, whose connections can break at any moment. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { afterTest } from './temporary.ts';

export class DatabaseProxy {
  /** The URL of the database through the proxy. */
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #isStalled = false;
  #lostStatement: string | undefined;
  #lossCount = 0;
  #passesNotifications = true;
  readonly #servers = new Set<Socket>();
  #received = '';

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
  }

  /** Listens until the end of the test. @param database the URL of a database */
  static async to(database: string): Promise<DatabaseProxy> {
    const proxy = await DatabaseProxy.open(database);
    afterTest(() => proxy.close());
    return proxy;
  }

  /** Listens until it is closed. @param database the URL of a database */
  static async open(database: string): Promise<DatabaseProxy> {
    const server = createServer((socket) => proxy.#pass(socket, connectTo(new URL(database))));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(database);
    url.searchParams.delete('host');
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const proxy = new DatabaseProxy(url.href, server);
    return proxy;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  /** Breaks all connections, and accepts no others until `restore` is called. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on, connections stay open and nothing arrives, as in a network that loses all packets. */
  stall(): void {
    this.#isStalled = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Accepts connections again. Those that were stalled break. */
  restore(): void {
    this.#isCut = false;
    if (!this.#isStalled) return;
    this.#isStalled = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on, notifications do not arrive, as through a pooler that shares connections between clients. */
  dropNotifications(): void {
    this.#passesNotifications = false;
  }

  /** Breaks the connections that next send a statement, after the database has executed it and before its answer arrives. */
  loseAnswerTo(statement: string, times = 1): void {
    this.#lostStatement = statement;
    this.#lossCount = times;
  }

  /** From now on, answers of the database do not arrive until `passAnswers` is called. */
  withholdAnswers(): void {
    this.#received = '';
    for (const server of this.#servers) server.pause();
  }

  passAnswers(): void {
    for (const server of this.#servers) server.resume();
  }

  /** What clients have sent since answers are withheld. */
  get received(): string {
    return this.#received;
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
      if (this.#isStalled) socket.pause();
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    this.#servers.add(server);
    server.on('close', () => this.#servers.delete(server));
    client.on('data', (bytes) => {
      this.#received += bytes.toString('latin1');
      if (this.#lossCount > 0 && bytes.includes(this.#lostStatement as string)) {
        isLost = true;
        this.#lossCount -= 1;
      }
      server.write(bytes);
    });
    let incomplete = Buffer.alloc(0);
    server.on('data', (bytes) => {
      if (isLost) {
        end();
        return;
      }
      if (this.#passesNotifications) {
        client.write(bytes);
        return;
      }
      incomplete = Buffer.concat([incomplete, bytes]);
      // Each message begins with its type and its length without the type; `A` is a notification.
      while (incomplete.length >= 5 && incomplete.length > incomplete.readInt32BE(1)) {
        const message = incomplete.subarray(0, 1 + incomplete.readInt32BE(1));
        incomplete = incomplete.subarray(message.length);
        if (message.toString('latin1', 0, 1) !== 'A') client.write(message);
      }
    });
  }
}

function connectTo(url: URL): Socket {
  const folder = url.searchParams.get('host');
  const port = Number(url.port === '' ? 5_432 : url.port);
  return folder === null ? connect(port, url.hostname) : connect(path.join(folder, `.s.PGSQL.${port}`));
}
