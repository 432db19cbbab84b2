/**
 * Lets a browser reach public addresses only. All its requests go through this proxy, which looks up a name once, checks the
 * addresses, and connects to one of the checked ones: a name of a private address, a redirect to one, or a name that changes its
 * address does not get through.
 */
import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, isIP, type Socket } from 'node:net';
import { isPublic } from '../addresses.ts';

export interface PublicProxy {
  url: string;
  /** The refused hosts, as `host:port`. */
  refusedHosts: ReadonlySet<string>;
  close(): Promise<void>;
}

/** The maximum number of refused hosts that are recorded. */
const maxRefused = 1_000;
/** Hop-by-hop headers (RFC 9110, 7.6.1). */
const ownHeaders = ['connection', 'proxy-connection', 'proxy-authorization', 'keep-alive', 'te', 'trailer', 'upgrade'];

export interface ProxyOptions {
  /** The addresses of a name; an empty list if it is unknown. */
  resolve?: (name: string) => Promise<string[]>;
  isAllowed?: (address: string) => boolean;
}

/** Starts a proxy on a free port of this machine. */
export async function startPublicProxy({ resolve = addressesOf, isAllowed = isPublic }: ProxyOptions = {}): Promise<PublicProxy> {
  const refusedHosts = new Set<string>();
  const sockets = new Set<Socket>();
  /** An allowed address of the host. */
  const allowedAddress = async (host: string, port: number): Promise<string | undefined> => {
    const addresses = await resolve(host.replace(/^\[|\]$/g, ''));
    const [first] = addresses;
    // A single private address is enough to distrust the name.
    if (first !== undefined && addresses.every(isAllowed)) return first;
    const name = port === 80 || port === 443 ? host : `${host}:${port}`;
    if (first !== undefined && refusedHosts.size < maxRefused) refusedHosts.add(name);
    return undefined;
  };

  const server = createServer((request, response) => void forward(request, response, allowedAddress));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
  });
  server.on('connect', (incoming: IncomingMessage, socket: Socket, head: Buffer) => void tunnel(incoming, socket, head, allowedAddress));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusedHosts,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

type Permitted = (host: string, port: number) => Promise<string | undefined>;

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return addresses.map(({ address }) => address);
}

async function forward(incoming: IncomingMessage, outgoing: ServerResponse, allowedAddress: Permitted): Promise<void> {
  const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url as string) : undefined;
  if (url?.protocol !== 'http:') return answer(outgoing, 400, 'This is a proxy.');
  const port = Number(url.port || 80);
  const address = await allowedAddress(url.hostname, port);
  if (address === undefined) return answer(outgoing, 403, `${url.host} is unknown or not a public address.`);
  // For a client that has already left, the `close` event below is not emitted any more.
  if (outgoing.destroyed) return;
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !ownHeaders.includes(name)));
  const upstream = request({ host: address, port, method: incoming.method, path: `${url.pathname}${url.search}`, headers, setHost: false });
  upstream.once('response', (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders);
    response.pipe(outgoing);
    response.once('error', () => outgoing.destroy());
  });
  upstream.once('error', () => (outgoing.headersSent ? outgoing.destroy() : answer(outgoing, 502, `${url.host} cannot be reached.`)));
  outgoing.once('close', () => upstream.destroy());
  incoming.pipe(upstream);
}

async function tunnel(incoming: IncomingMessage, socket: Socket, head: Buffer, allowedAddress: Permitted): Promise<void> {
  const target = URL.canParse(`http://${incoming.url}`) ? new URL(`http://${incoming.url}`) : undefined;
  const port = Number(target?.port || (incoming.url?.endsWith(':80') ? 80 : 443));
  const address = target === undefined ? undefined : await allowedAddress(target.hostname, port);
  if (address === undefined) return void socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
  if (socket.destroyed) return;
  const upstream = connect({ host: address, port });
  upstream.once('connect', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on('error', () => socket.destroy()).once('close', () => socket.destroy());
  socket.once('close', () => upstream.destroy());
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`);
}
