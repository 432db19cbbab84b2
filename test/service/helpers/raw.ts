/** Requests as bytes on a socket, for what an HTTP client would not send. */
import { connect, type Socket } from 'node:net';
import { afterTest } from '../../support/temporary.ts';
import type { Api } from './service.ts';

/** A connection to the service, closed after the test. @param from an address of this machine */
export async function dial(api: Api, from = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port: api.service.port, host: '127.0.0.1', localAddress: from });
  afterTest(async () => socket.destroy());
  // Being reset is among the things that happen here; the reader sees the end.
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return socket;
}

/** Everything that comes until the other side closes. */
export async function receiveAll(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.resume();
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return text;
}

/** Sends the unchanged text, and returns the response until the service closes the connection. */
export async function raw(api: Api, text: string): Promise<string> {
  const socket = await dial(api);
  const answer = receiveAll(socket);
  socket.write(text);
  return answer;
}

/** The Host and Authorization lines of a request. */
export const auth = (api: Api): string => `Host: 127.0.0.1\r\nAuthorization: Bearer ${api.service.token}\r\n`;

export const statusOf = (answer: string): number => Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1]);

/** The JSON body of an answer with a Content-Length. */
export const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.lastIndexOf('\r\n\r\n') + 4));
