/** A receiver of webhooks that stores every request unchanged, and answers as configured. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface ReceivedDelivery {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** The event. */
  json: { id: string; type: string; timestamp: string; team_id: string; data: Record<string, never> };
}

type Answer = (response: ServerResponse, number: number, request: IncomingMessage) => unknown;

export class Receiver {
  readonly url: string;
  readonly deliveries: ReceivedDelivery[] = [];
  /** The answer from now on; the second argument counts the requests from 1. */
  answer: Answer = (response) => response.writeHead(204).end();
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(): Promise<Receiver> {
    const server = createServer(async (request, response) => {
      // Another webhook of the service can have an address at which nothing listened, and whose port this receiver now has.
      if (!request.url?.startsWith('/hook')) return response.writeHead(404).end();
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const text = body.toString('utf8');
      receiver.deliveries.push({
        path: request.url ?? '',
        headers: request.headers as Record<string, string>,
        body,
        json: (text === '' ? {} : JSON.parse(text)) as ReceivedDelivery['json'],
      });
      receiver.answer(response, receiver.deliveries.length, request);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const receiver = new Receiver(`http://127.0.0.1:${port}/hook`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return receiver;
  }

  close(): Promise<void> {
    return this.#close();
  }

  get kinds(): string[] {
    return this.deliveries.map(({ headers, json }) => json.type ?? headers['webhook-id']);
  }

  /** Waits until this many requests have arrived. */
  async count(number: number): Promise<ReceivedDelivery[]> {
    while (this.deliveries.length < number) await new Promise((resolve) => setImmediate(resolve));
    return this.deliveries;
  }
}

/** Listens with a handler of sockets, for receivers that do not speak HTTP. Returns the URL. */
export async function rawReceiver(onConnection: (socket: Socket) => void): Promise<{ url: string; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', () => onConnection(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/raw`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Throws unless the reference library accepts the request as signed with this secret at this time. */
export const verifyWithLibrary = (secret: string, { body, headers }: ReceivedDelivery): unknown =>
  new Webhook(secret).verify(body, headers);
