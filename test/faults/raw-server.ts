/**
 * A TCP server that answers HTTP with a script of one step for each request, and can misbehave: wrong lengths, partial answers,
 * resets, silence. It records every request that it has read.
 */
import net from 'node:net';

export interface RecordedRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer;
  /** The number of its connection, from 1. */
  connection: number;
}

/** What happens after the bytes of a step are written. */
export type StepEnding = 'keep' | 'close' | 'reset' | 'stall';

/** One step of the script. */
export interface Step {
  /** When it acts: as soon as the headers of a request are read, or after its body. */
  after: 'head' | 'request';
  bytes: (request: RecordedRequest) => Uint8Array | string;
  ending: StepEnding;
}

const words: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
  302: 'Found',
  401: 'Unauthorized',
  429: 'Too Many Requests',
};

const head = (status: number, headers: Record<string, string | readonly string[]>): string => {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((item) => `${name}: ${item}`));
  return `HTTP/1.1 ${status} ${words[status] ?? 'Status'}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
};

/** A complete answer with a JSON body. */
export function json(status: number, body: unknown, headers: Record<string, string | readonly string[]> = {}): Step {
  const text = JSON.stringify(body);
  return answer(status, text, { 'content-type': 'application/json', ...headers });
}

/** A complete answer with this body. */
export function answer(status: number, body: string | Uint8Array, headers: Record<string, string | readonly string[]> = {}): Step {
  const content = Buffer.from(body as string);
  return raw(Buffer.concat([Buffer.from(head(status, { 'content-length': String(content.length), ...headers })), content]));
}

/** The headers of an answer that announces `length` bytes, and a part of its body. */
export function partial(
  status: number,
  length: number,
  body: string | Uint8Array,
  ending: StepEnding,
  headers: Record<string, string> = {},
): Step {
  const start = head(status, { 'content-type': 'application/json', 'content-length': String(length), ...headers });
  return raw(Buffer.concat([Buffer.from(start), Buffer.from(body as string)]), ending);
}

/** These bytes, unchanged. */
export const raw = (bytes: Uint8Array | string, ending: StepEnding = 'keep'): Step => ({ after: 'request', bytes: () => bytes, ending });

/** An answer that depends on the request. */
export const reply = (choose: (request: RecordedRequest) => Step): Step => ({
  after: 'request',
  bytes: (request) => choose(request).bytes(request),
  ending: 'keep',
});

/** No answer; the connection ends or stays silent. `after: 'head'` acts before the body is read. */
export const noAnswer = (ending: Exclude<StepEnding, 'keep'>, after: Step['after'] = 'request'): Step => ({
  after,
  bytes: () => '',
  ending,
});

export class RawServer {
  readonly requests: RecordedRequest[] = [];
  connections = 0;
  /** What happens to a connection before it can send anything. */
  onConnection: (socket: net.Socket) => void = () => undefined;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  readonly #script: Step[] = [];
  #defaultStep: Step | undefined;
  readonly #waiters = new Set<() => void>();

  private constructor() {
    this.#server = net.createServer((socket) => this.#serve(socket));
  }

  /** A server on a free port of the loopback interface, with the steps of its script. */
  static start(...steps: Step[]): Promise<RawServer> {
    return RawServer.startAt(0, ...steps);
  }

  /** The same on a specific port. */
  static async startAt(port: number, ...steps: Step[]): Promise<RawServer> {
    const server = new RawServer();
    server.plan(...steps);
    await new Promise<void>((resolve) => server.#server.listen(port, '127.0.0.1', resolve));
    return server;
  }

  /** The open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Adds steps to the end of the script. */
  plan(...steps: Step[]): this {
    this.#script.push(...steps);
    return this;
  }

  /** The step for all requests after the end of the script. */
  always(step: Step): this {
    this.#defaultStep = step;
    return this;
  }

  /** One header of every request, in order. */
  header(name: string): (string | undefined)[] {
    return this.requests.map(({ headers }) => headers[name]);
  }

  /** Resolves when the condition is true; it is checked whenever a request is read, or a connection is opened or closed. */
  async until(condition: (server: RawServer) => boolean): Promise<void> {
    while (!condition(this)) await new Promise<void>((resolve) => this.#waiters.add(resolve));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #notifyWaiters(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  #serve(socket: net.Socket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    const reader = new RequestReader(this.connections);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#notifyWaiters();
    });
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const event of reader.push(chunk)) if (this.#handleEvent(socket, event)) break;
    });
    this.onConnection(socket);
    this.#notifyWaiters();
  }

  /** Takes a step that acts on a request's headers immediately, and any other step when the request is complete. True if no more is read. */
  #handleEvent(socket: net.Socket, { kind, request }: ReaderEvent): boolean {
    const step = this.#script[0] ?? this.#defaultStep;
    if (kind === 'head' && step?.after !== 'head') return false;
    this.requests.push(request);
    if (step === undefined) throw new Error(`No step for ${request.method} ${request.path}`);
    this.#script.shift();
    if (step.ending === 'keep' || step.ending === 'stall') socket.write(step.bytes(request));
    else if (step.ending === 'close') socket.end(step.bytes(request));
    else socket.write(step.bytes(request), () => socket.resetAndDestroy());
    if (kind === 'head') socket.removeAllListeners('data').resume();
    this.#notifyWaiters();
    return kind === 'head';
  }
}

/** A request of which the headers, or everything, have been read. */
export interface ReaderEvent {
  kind: 'head' | 'request';
  request: RecordedRequest;
}

/** Splits a connection's bytes into requests, whose bodies have a content-length. */
export class RequestReader {
  readonly #connection: number;
  #pending: Buffer[] = [];
  #size = 0;
  #current: RecordedRequest | undefined;

  constructor(connection: number) {
    this.#connection = connection;
  }

  *push(chunk: Buffer): Generator<ReaderEvent, void, undefined> {
    this.#pending.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      if (this.#current === undefined) {
        const request = this.#takeHead();
        if (request === undefined) return;
        this.#current = request;
        yield { kind: 'head', request };
      }
      const length = Number(this.#current.headers['content-length'] ?? 0);
      if (this.#size < length) return;
      const bytes = this.#join();
      const request = { ...this.#current, body: bytes.subarray(0, length) };
      this.#keep(bytes.subarray(length));
      this.#current = undefined;
      yield { kind: 'request', request };
    }
  }

  #takeHead(): RecordedRequest | undefined {
    const bytes = this.#join();
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
    const [method = '', path = ''] = first.split(' ');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    this.#keep(bytes.subarray(end + 4));
    return { method, path, headers, body: Buffer.alloc(0), connection: this.#connection };
  }

  #join(): Buffer {
    const bytes = this.#pending.length === 1 ? (this.#pending[0] as Buffer) : Buffer.concat(this.#pending);
    this.#pending = [bytes];
    return bytes;
  }

  #keep(remainder: Buffer): void {
    this.#pending = [remainder];
    this.#size = remainder.length;
  }
}
