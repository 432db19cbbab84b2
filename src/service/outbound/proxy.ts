/** An HTTP proxy with tunnels, which opens all its connections with one function. That function decides which hosts can be reached. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HostNotAllowedError } from './guarded-lookup.ts';

/** Opens a connection. Rejects with HostNotAllowedError, whose message the client of the proxy gets. */
export type OpenConnection = (host: string, port: number) => Promise<Socket>;

/** Hop-by-hop headers (RFC 9110, 7.6.1). */
const ownHeaders = ['connection', 'proxy-connection', 'proxy-authorization', 'keep-alive', 'te', 'trailer', 'upgrade'];

/** The proxy, which does not listen yet. */
export function createProxy(open: OpenConnection): Server {
  const server = createServer((incoming, outgoing) => void forward(incoming, outgoing, open));
  server.on('connect', (incoming: IncomingMessage, socket: Socket, head: Buffer) => void tunnel(incoming, socket, head, open));
  return server;
}

/** Closes a server together with its connections, including those that it has handed over. Call it before the server listens. */
export function closer(server: { on(event: 'connection', listener: (socket: Socket) => void): unknown; close(done: () => void): unknown }) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
  });
  return (): Promise<void> =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
}

async function forward(incoming: IncomingMessage, outgoing: ServerResponse, open: OpenConnection): Promise<void> {
  const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url as string) : undefined;
  if (url?.protocol !== 'http:') return answer(outgoing, 400, 'This is a proxy.');
  let socket: Socket;
  try {
    socket = await open(url.hostname, Number(url.port || 80));
  } catch (error) {
    const isRefused = error instanceof HostNotAllowedError;
    return answer(outgoing, isRefused ? 403 : 502, isRefused ? error.message : `${url.host} cannot be reached.`);
  }
  // For a client that has already left, the `close` event below is not emitted any more.
  if (outgoing.destroyed) return void socket.destroy();
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !ownHeaders.includes(name)));
  const upstream = request({
    createConnection: () => socket,
    ...{ method: incoming.method, path: `${url.pathname}${url.search}`, headers, setHost: false },
  });
  upstream.once('response', (response) => {
    outgoing.writeHead(response.statusCode as number, response.rawHeaders);
    response.pipe(outgoing);
    response.once('error', () => outgoing.destroy());
  });
  upstream.once('error', () => (outgoing.headersSent ? outgoing.destroy() : answer(outgoing, 502, `${url.host} cannot be reached.`)));
  outgoing.once('close', () => upstream.destroy());
  incoming.pipe(upstream);
}

async function tunnel(incoming: IncomingMessage, socket: Socket, head: Buffer, open: OpenConnection): Promise<void> {
  const target = URL.canParse(`http://${incoming.url}`) ? new URL(`http://${incoming.url}`) : undefined;
  const port = Number(target?.port || (incoming.url?.endsWith(':80') ? 80 : 443));
  try {
    if (target === undefined) throw new HostNotAllowedError('The address of the tunnel is invalid.');
    const upstream = await open(target.hostname, port);
    if (socket.destroyed) return void upstream.destroy();
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.write(head);
    join(socket, upstream);
  } catch (error) {
    const isRefused = error instanceof HostNotAllowedError;
    const status = isRefused ? '403 Forbidden' : '502 Bad Gateway';
    const text = isRefused ? error.message : `${incoming.url} cannot be reached.`;
    socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${text}\n`);
  }
}

/** Passes everything on between two sockets, until one of them is closed. */
export function join(first: Socket, second: Socket): void {
  first.pipe(second).pipe(first);
  for (const [one, other] of [
    [first, second],
    [second, first],
  ] as const) {
    one.on('error', () => other.destroy()).once('close', () => other.destroy());
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`);
}
