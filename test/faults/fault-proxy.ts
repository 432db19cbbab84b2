/**
 * A proxy in front of a real service that handles each request as configured: forwards it, loses it, or loses the answer.
 * It records everything that the service answered.
 */
import http from 'node:http';
import net from 'node:net';
import { type RecordedRequest, RequestReader } from './raw-server.ts';

/** What happens to one request. */
export type Fault =
  | { kind: 'pass' }
  /** The connection breaks before the service sees anything. */
  | { kind: 'reset-at-head' | 'reset-before' | 'close-before' }
  /** The service has carried it out, and the connection breaks. */
  | { kind: 'reset-after' | 'close-after' }
  /** The service has carried it out, and only this share of the answer's bytes arrives. */
  | { kind: 'truncate'; share: number }
  /** The service has carried it out, and the client gives up before the answer. */
  | { kind: 'late' }
  /** The client gives up while the service is still executing it. */
  | { kind: 'overtaken' }
  /** The service receives it twice at the same time; the client gets either answer. */
  | { kind: 'twice'; answer: 0 | 1 }
  /** The proxy answers itself, after or instead of the service. */
  | { kind: 'answer'; status: 500 | 502 | 503 | 429; after: boolean; retryAfter?: string };

/** An answer of the service. */
export interface ServiceAnswer {
  status: number;
  isReplayed: boolean;
  body: string;
}

/** The faults of a client's requests, in order, and how to make the client give up. */
export interface Plan {
  faults: Fault[];
  losePatience: () => void;
}

export class FaultProxy {
  /** By the value of the `user-agent` header. */
  readonly plans = new Map<string, Plan>();
  readonly #answers = new Map<string, ServiceAnswer[]>();
  requests = 0;
  readonly #target: URL;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  readonly #forwards = new Set<Promise<unknown>>();

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = net.createServer((socket) => this.#serve(socket));
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  /** The service's answers to changes by the client with this `user-agent`. */
  answersOf(client: string): ServiceAnswer[] {
    return this.#answers.get(client) ?? [];
  }

  /** Resolves when the service has answered all requests that it received. */
  async whenSettled(): Promise<void> {
    while (this.#forwards.size > 0) await Promise.all(this.#forwards);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: net.Socket): void {
    this.#sockets.add(socket);
    const reader = new RequestReader(0);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const { kind, request } of reader.push(chunk)) {
        const plan = this.plans.get(request.headers['user-agent'] ?? '');
        const next = plan?.faults[0];
        if (kind === 'head' && next?.kind !== 'reset-at-head') continue;
        plan?.faults.shift();
        this.requests += 1;
        void this.#applyFault(socket, request, next ?? { kind: 'pass' }, plan);
        if (kind === 'head') break;
      }
    });
  }

  async #applyFault(socket: net.Socket, request: RecordedRequest, fault: Fault, plan: Plan | undefined): Promise<void> {
    switch (fault.kind) {
      case 'reset-at-head':
      case 'reset-before':
        return void socket.resetAndDestroy();
      case 'close-before':
        return void socket.end();
      case 'pass':
        return void socket.write((await this.#forward(request)).bytes);
      case 'reset-after':
        await this.#forward(request);
        return void socket.resetAndDestroy();
      case 'close-after':
        await this.#forward(request);
        return void socket.end();
      case 'truncate': {
        const { bytes } = await this.#forward(request);
        return void socket.end(bytes.subarray(0, Math.floor(bytes.length * fault.share)));
      }
      case 'late':
        await this.#forward(request);
        return plan?.losePatience();
      case 'overtaken': {
        const pendingForward = this.#forward(request);
        plan?.losePatience();
        return void (await pendingForward);
      }
      case 'twice': {
        const answers = await Promise.all([this.#forward(request), this.#forward(request)]);
        return void socket.write(answers[fault.answer].bytes);
      }
      case 'answer': {
        if (fault.after) await this.#forward(request);
        const body = JSON.stringify({ error: fault.status === 429 ? 'rate_limited' : 'bad_gateway' });
        const wait = fault.retryAfter === undefined ? '' : `retry-after: ${fault.retryAfter}\r\n`;
        const head = `HTTP/1.1 ${fault.status} Proxy\r\ncontent-type: application/json\r\n${wait}content-length: ${body.length}\r\n\r\n`;
        return void socket.write(head + body);
      }
    }
  }

  /** Gets the service's answer, and the bytes to forward. */
  #forward(request: RecordedRequest): Promise<{ bytes: Buffer }> {
    const pendingAnswer = this.#ask(request);
    this.#forwards.add(pendingAnswer);
    return pendingAnswer.finally(() => this.#forwards.delete(pendingAnswer));
  }

  #ask({ method, path, headers, body }: RecordedRequest): Promise<{ bytes: Buffer }> {
    return new Promise((resolve, reject) => {
      const forwardedHeaders = { ...headers, host: this.#target.host, connection: 'keep-alive' };
      const options = { host: this.#target.hostname, port: this.#target.port, method, path, headers: forwardedHeaders, agent: this.#agent };
      const request = http.request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const content = Buffer.concat(chunks);
          const isReplayed = response.headers['idempotency-replayed'] === 'true';
          this.#record(headers['user-agent'] ?? '', { status: response.statusCode ?? 0, isReplayed, body: content.toString() });
          const lines = Object.entries(response.headers)
            .filter(([name]) => !['transfer-encoding', 'connection', 'keep-alive', 'content-length'].includes(name))
            .map(([name, value]) => `${name}: ${String(value)}\r\n`);
          const head = `HTTP/1.1 ${response.statusCode} Status\r\n${lines.join('')}content-length: ${content.length}\r\n\r\n`;
          resolve({ bytes: Buffer.concat([Buffer.from(head), content]) });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  #record(client: string, answer: ServiceAnswer): void {
    this.#answers.set(client, [...this.answersOf(client), answer]);
  }
}
