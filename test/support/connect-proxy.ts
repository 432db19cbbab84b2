/** A forward proxy on this machine. It connects all host names to one local port, so that they need no DNS. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { type CertificateName, certificate } from './tls.ts';

export interface ProxyOptions {
  /** Where every tunnel and request is sent. */
  port: number;
  /** The `user:password` that it requires. */
  login?: string;
  /** Answers every CONNECT with this status. */
  status?: number;
  /** Closes the connection instead of answering. */
  hangsUp?: boolean;
  /** Expects TLS on its own connections. */
  tls?: CertificateName;
}

export class ConnectProxy {
  /** The requests so far: `CONNECT agents.test:443`, `GET http://agents.test/x`. */
  readonly requests: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  readonly #server: http.Server;
  readonly #sockets = new Set<Duplex>();

  private constructor(options: ProxyOptions) {
    this.#server = options.tls ? https.createServer(certificate(options.tls)) : http.createServer();
    this.#server.on('connection', (socket: net.Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
    });
    this.#server.on('connect', (request: http.IncomingMessage, socket: Duplex) => this.#tunnel(options, request, socket));
    this.#server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => this.#forward(options, request, response));
  }

  static async start(options: ProxyOptions): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** Host and port. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #refusalStatus({ login, status }: ProxyOptions, request: http.IncomingMessage): number | undefined {
    this.requests.push(`${request.method} ${request.url}`);
    this.authorizations.push(request.headers['proxy-authorization']);
    const expected = login && `Basic ${Buffer.from(login).toString('base64')}`;
    return expected && request.headers['proxy-authorization'] !== expected ? 407 : status;
  }

  #tunnel(options: ProxyOptions, request: http.IncomingMessage, socket: Duplex): void {
    const refusal = this.#refusalStatus(options, request);
    socket.on('error', () => undefined);
    if (options.hangsUp) return void socket.destroy();
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} Refused\r\ncontent-length: 0\r\n\r\n`);
    const upstream = net.connect(options.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    this.#sockets.add(upstream);
    upstream.on('error', () => socket.destroy());
  }

  #forward(options: ProxyOptions, request: http.IncomingMessage, response: http.ServerResponse): void {
    const refusal = this.#refusalStatus(options, request);
    if (refusal !== undefined) return void response.writeHead(refusal).end();
    const { pathname } = new URL(String(request.url));
    const upstream = http.request(
      { port: options.port, host: '127.0.0.1', path: pathname, method: request.method, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    request.pipe(upstream);
  }
}
