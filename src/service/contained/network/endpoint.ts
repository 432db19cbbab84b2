/** Forwards requests for one URL of the service, with the token of the program, and refuses all others. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { ProgramEndpoint } from '../../sandbox/launch.ts';

/** What a program must not decide: who it is, and where its requests come from. */
const withheldHeaders = ['connection', 'authorization', 'forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** Creates the server, which is not listening yet. The URL is an address of this machine. */
export function endpointServer(endpoint: ProgramEndpoint): Server {
  const url = new URL(endpoint.url);
  return createServer((incoming, outgoing) => {
    const [path] = (incoming.url ?? '').split('?');
    if (path !== url.pathname) return refuse(outgoing, 403, 'path_not_allowed', `Programs can only reach ${url.pathname} of the service.`);
    return passOn(url, endpoint.authorization, incoming, outgoing);
  });
}

function passOn(url: URL, authorization: string | undefined, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !withheldHeaders.includes(name)));
  const options = {
    method: incoming.method,
    headers: { ...headers, host: url.host, ...(authorization === undefined ? {} : { authorization }) },
    path: incoming.url,
  };
  // The connection stays on this machine, and the certificate is valid for the service's public name instead.
  const upstream = url.protocol === 'https:' ? secureRequest(url, { ...options, rejectUnauthorized: false }) : request(url, options);
  upstream.once('response', (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders);
    response.pipe(outgoing);
    response.once('error', () => outgoing.destroy());
  });
  upstream.once('error', () =>
    outgoing.headersSent ? outgoing.destroy() : refuse(outgoing, 502, 'service_unavailable', 'The service does not respond.'),
  );
  outgoing.once('close', () => upstream.destroy());
  incoming.pipe(upstream);
}

function refuse(outgoing: ServerResponse, status: number, error: string, message: string): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify({ error, message }));
}
