/** The HTTP server: sockets, time limits, and writing the answers of the pipeline. */
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { deferred } from '../../base/deferred.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { errorFields, type LogLevel } from '../log.ts';
import { type Answer, jsonAnswer, privateData, rawResponse } from './answer.ts';
import { drainBody, hasUnreadBody, holdBody } from './body.ts';
import { ConnectionShares } from './connection-shares.ts';
import { endOfTurn } from './end-of-turn.ts';
import { addressOf, type HttpParts, isAddress } from './exchange.ts';
import { Lifetime } from './lifetime.ts';
import { handle } from './pipeline.ts';
import type { TlsPair } from './tls.ts';

export interface HttpServer {
  readonly port: number;
  /** Presents another certificate to new connections. */
  setTls(pair: TlsPair): void;
  /** Stops accepting connections, waits at most `milliseconds` for requests in progress, and closes every connection. */
  close(milliseconds: number): Promise<void>;
}

/** Listens. Throws AopsError `port_in_use`. */
export async function listen(parts: HttpParts, address: { host: string; port: number; tls?: TlsPair | undefined }): Promise<HttpServer> {
  const requestsInProgress = new RequestCounter();
  const shutdown = new AbortController();
  // Each event stream listens for it.
  setMaxListeners(0, shutdown.signal);
  const sockets = new Set<Socket>();
  const accept = (request: IncomingMessage, response: ServerResponse): void => {
    void serve(parts, request, response, shutdown.signal, requestsInProgress);
  };
  const { headersMilliseconds, checkMilliseconds, keepAliveMilliseconds, idleMilliseconds, connections } = parts.limits;
  const { server, setTls } = await createSocketServer(address.tls, {
    headersTimeout: headersMilliseconds,
    // Bodies have a limit of their own, and an upload may take any time as long as data arrives.
    requestTimeout: 0,
    connectionsCheckingInterval: checkMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    // The pipeline reports it in the form of all errors.
    requireHostHeader: false,
  });
  server.timeout = idleMilliseconds;
  server.maxConnections = connections;
  const shares = new ConnectionShares(parts.limits.connectionsPerAddress, (peer) => parts.proxies.trusts(peer));
  server.on('connection', (socket: Socket) => shares.admit(socket));
  // The size of the headers is limited; by default, headers beyond a maximum number would be dropped silently.
  server.maxHeadersCount = 0;
  server.on('request', accept);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    holdBody(request, () => response.writeContinue());
    accept(request, response);
  });
  // "Expect" has only one defined value (RFC 9110 section 10.1.1); with another one, the body is sent nevertheless.
  server.on('checkExpectation', accept);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(parts, error, socket));
  const port = await bind(server, address);
  // The service continues with the connections that it has.
  server.on('error', (error) => parts.engine.log('error', 'a connection could not be accepted', errorFields(error)));
  return {
    port,
    setTls,
    async close(milliseconds) {
      shutdown.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const limit = new AbortController();
      const end = requestsInProgress.whenIdle().then(() => {
        server.closeIdleConnections();
        // Node does not count unused connections as idle, and clients keep some ready.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      });
      // Handlers continue when their client has disconnected, so waiting for connections is not enough.
      await Promise.race([Promise.all([closed, end]), systemClock.sleep(milliseconds, limit.signal).catch(() => undefined)]);
      limit.abort();
      server.closeAllConnections();
    },
  };
}

/** A server that uses TLS if it has a certificate. node:https is loaded only for that. */
async function createSocketServer(
  tls: TlsPair | undefined,
  options: ServerOptions,
): Promise<{ server: Server; setTls(pair: TlsPair): void }> {
  if (tls === undefined) return { server: createServer(options), setTls: () => undefined };
  const https = await import('node:https');
  const server = https.createServer({ ...options, ...tls, handshakeTimeout: options.headersTimeout });
  return { server: server as unknown as Server, setTls: (pair) => server.setSecureContext({ ...pair }) };
}

async function bind(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') {
      throw new AopsError(`Port ${port} on ${host} is in use.`, {
        code: 'port_in_use',
        exit: exitCodes.usage,
        hint: 'Choose another port with --port, or 0 for any free port.',
        cause: error,
      });
    }
    if (error.code === 'EACCES') {
      throw new UsageError(
        `This user is not allowed to listen on port ${port} of ${host}.`,
        'Choose a port of 1024 or higher with --port, if needed behind a proxy, or give this user permission for the port.',
        'cannot_listen',
      );
    }
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN') {
      throw new UsageError(
        `The service cannot listen on ${host}: this machine has no such address.`,
        'Choose another --host: 127.0.0.1 for this machine only, 0.0.0.0 for all of its addresses.',
        'cannot_listen',
      );
    }
    throw error;
  });
  return (server.address() as AddressInfo).port;
}

/** The latest response on each connection. */
const responses = new WeakMap<Duplex, ServerResponse>();

/** Counts the requests in progress. */
class RequestCounter {
  #count = 0;
  #idle = deferred();

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#idle.resolve();
    this.#idle = deferred();
  }

  /** Resolves when there are none. */
  whenIdle(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : this.#idle.promise;
  }
}

async function serve(
  parts: HttpParts,
  request: IncomingMessage,
  response: ServerResponse,
  shutdown: AbortSignal,
  requestsInProgress: RequestCounter,
): Promise<void> {
  requestsInProgress.begin();
  const { limiter } = parts;
  const { clock, log } = parts.engine;
  const startedAt = steadyTime(clock);
  const requestId = randomUUID();
  responses.set(request.socket, response);
  try {
    let milliseconds: number | undefined;
    const { answer, caller, operation } = await handle(parts, request, requestId, new Lifetime(response, shutdown));
    await endOfTurn();
    try {
      const unread = hasUnreadBody(request);
      // A body that was not read would be taken for the next request, and a closing service does not handle another one.
      if (unread || shutdown.aborted) response.shouldKeepAlive = false;
      // The headers of a 429 describe the limit that it is about.
      const headers: OutgoingHttpHeaders = Object.assign({}, privateData, limiter.headers(caller), answer.headers);
      const body = typeof answer.body === 'string' ? bytesToSend(answer.body) : answer.body;
      if ((typeof body === 'string' || body instanceof Buffer) && answer.status !== 304)
        headers['Content-Length'] = Buffer.byteLength(body);
      headers.Date = httpDate(clock.now());
      headers['X-Request-Id'] = requestId;
      response.writeHead(answer.status, headers);
      // How long a client reads a stream says nothing about the service.
      if (isEventStream(answer)) milliseconds = steadyTime(clock) - startedAt;
      if (typeof body !== 'string' && !(body instanceof Buffer)) await pipeline(body, response);
      else if (!unread) response.end(body);
      else {
        response.write(body);
        await drainBody(request, parts.limits.lingerMilliseconds);
        response.end();
      }
    } catch (error) {
      // The client has disconnected, or the file of a download was removed. The headers are sent, so only closing the connection can report it.
      response.destroy();
      if (typeof answer.body !== 'string') answer.body.destroy();
      log('debug', 'a response was cut off', { request: requestId, ...errorFields(error) });
    }
    milliseconds ??= steadyTime(clock) - startedAt;
    parts.metrics.countAnswer(operation ?? 'none', answer.status, milliseconds);
    log(levelOf(answer.status, operation), 'request', {
      request: requestId,
      method: request.method ?? '',
      operation: operation ?? null,
      status: answer.status,
      ms: Math.round(milliseconds * 10) / 10,
      address: parts.proxies.clientAddress(request),
      credential: isAddress(caller) ? null : caller,
    });
  } finally {
    requestsInProgress.end();
  }
}

/** Operations that monitoring, or clients watching runs, request every few seconds: they would fill the log. */
const probes: ReadonlySet<string> = new Set(['healthz', 'readyz', 'metrics']);
const polls: ReadonlySet<string> = new Set([
  'getRun',
  'listRuns',
  'listRunMessages',
  'streamRunEvents',
  'streamRunsEvents',
  'streamTeamEvents',
]);

function levelOf(status: number, operation = ''): LogLevel {
  if (probes.has(operation) || (status < 400 && polls.has(operation))) return 'debug';
  return status >= 500 ? 'error' : 'info';
}

/** A long text is encoded once, outside of the heap: written as a string, the socket would copy several times its length. */
const bytesToSend = (text: string): string | Buffer => (text.length > longText ? Buffer.from(text) : text);
const longText = 64 * 1024;
const isEventStream = ({ headers }: Answer): boolean => headers['Content-Type']?.startsWith('text/event-stream') === true;

/** Answers invalid input that never became a request. */
function refuse(parts: HttpParts, error: NodeJS.ErrnoException, socket: Duplex): void {
  // A response that has started cannot be undone, and anything sent after it would be read as part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || hasBegun(socket)) {
    socket.destroy();
    return;
  }
  const [status, answer] = unreadable(error.code);
  const requestId = randomUUID();
  parts.metrics.countAnswer('none', status, 0);
  parts.engine.log('info', 'request', { request: requestId, method: null, operation: null, status, ms: 0, credential: null });
  const caller = addressOf(parts, { socket: socket as Socket });
  socket.end(
    rawResponse(status, answer, {
      ...parts.limiter.headers(caller),
      Date: httpDate(parts.engine.clock.now()),
      'X-Request-Id': requestId,
    }),
  );
}

/** Whether a response on the connection has been partly sent. */
function hasBegun(socket: Duplex): boolean {
  const current = responses.get(socket);
  return current?.headersSent === true && !current.writableFinished;
}

function unreadable(code: string | undefined): [number, Answer] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, jsonAnswer(431, { error: 'headers_too_large', message: 'The headers are too large.' })];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return [408, jsonAnswer(408, { error: 'request_timeout', message: 'The request did not arrive in time.' })];
  return [400, jsonAnswer(400, { error: 'invalid_request', message: 'This is not a valid HTTP request.' })];
}

let lastDate = { second: Number.NaN, text: '' };

/** Formatted at most once a second. */
function httpDate(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1_000);
  if (second !== lastDate.second) lastDate = { second, text: new Date(milliseconds).toUTCString() };
  return lastDate.text;
}
