/** A proxy in front of a service, with or without event streams, whose connections can break. */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterTest } from './temporary.ts';

export class Forwarder {
  readonly url: string;
  /** Paths of the forwarded requests, with their query strings. */
  readonly requests: string[] = [];
  /** Whether event streams are forwarded. Otherwise the answer is 404, as from a service without them. */
  streams = true;
  /** Which requests get 503: those for event streams, or all others. */
  refuses: 'streams' | 'others' | undefined;
  /** Which requests get no response. */
  ignores: (request: IncomingMessage) => boolean = () => false;
  /** Whether anything is forwarded. Otherwise connections are reset. */
  up = true;
  /** Connections that were reset because nothing is forwarded. */
  refusedCount = 0;
  /** How many events of a stream are forwarded before it breaks in the middle of the next one. */
  eventsPerStream = Number.POSITIVE_INFINITY;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Listens until the end of the test. */
  static async to(target: string): Promise<Forwarder> {
    const server = http.createServer((request, response) => forwarder.#pass(target, request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const forwarder = new Forwarder((server.address() as AddressInfo).port);
    server.on('connection', (socket) => {
      if (!forwarder.up) {
        forwarder.refusedCount += 1;
        socket.destroy();
      }
      forwarder.#sockets.add(socket);
      socket.once('close', () => forwarder.#sockets.delete(socket));
    });
    afterTest(() => {
      forwarder.cut();
      server.close();
    });
    return forwarder;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Disappears like a service that was killed. */
  goDown(): void {
    this.up = false;
    this.cut();
  }

  #pass(target: string, request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.requests.push(path);
    if (this.ignores(request)) return;
    const isStream = path.split('?')[0]?.endsWith('/events') ?? false;
    if (isStream && !this.streams) {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>');
      return;
    }
    if (this.refuses === (isStream ? 'streams' : 'others')) {
      response.writeHead(503).end();
      return;
    }
    const onward = http.request(`${target}${path}`, {
      method: request.method,
      headers: request.headers,
    });
    request.pipe(onward);
    onward.once('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      let remaining = this.eventsPerStream;
      answer.on('data', (chunk: Buffer) => {
        const events = isStream ? chunk.toString().split('\nevent: ').length - 1 : 0;
        remaining -= events;
        if (remaining >= 0) response.write(chunk);
        else {
          // Half of the event is forwarded.
          response.write(chunk.subarray(0, chunk.length / 2));
          setImmediate(() => response.destroy());
        }
      });
      answer.once('end', () => response.end());
      answer.once('error', () => response.destroy());
    });
  }
}
