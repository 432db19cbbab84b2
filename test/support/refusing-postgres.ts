/** A server that speaks enough of the protocol of Postgres to refuse a connection: with or without TLS, and with any error. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterTest } from './temporary.ts';

export interface Refusal {
  /** SQLSTATE, and the message. */
  error?: readonly [code: string, message: string];
  /** Its certificate; without one, the server does not use TLS. */
  tls?: { key: string; cert: string };
  /** Asks for a password before it refuses. */
  asksForPassword?: boolean;
  onPassword?: (password: string) => void;
}

/** The code that a client sends first if it wants TLS. https://www.postgresql.org/docs/current/protocol-message-formats.html */
const tlsRequest = 80_877_103;

/** Listens until the end of the test. Resolves to the port. */
export async function refusingPostgres(refusal: Refusal): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => greet(socket, bytes, refusal));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function greet(socket: Socket, first: Buffer, refusal: Refusal): void {
  if (first.readInt32BE(4) !== tlsRequest) {
    refuse(socket, refusal);
    return;
  }
  if (refusal.tls === undefined) {
    socket.once('data', () => refuse(socket, refusal));
    socket.write('N');
    return;
  }
  socket.write('S');
  const secure = new TLSSocket(socket, { isServer: true, ...refusal.tls });
  secure.on('error', () => undefined);
  secure.once('data', () => refuse(secure, refusal));
}

function refuse(socket: Socket, { error: [code, message] = ['XX000', 'refused'], asksForPassword, onPassword }: Refusal): void {
  const end = (): void => void socket.end(packet('E', `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`));
  if (asksForPassword) {
    socket.once('data', (bytes) => {
      // After the type and the length, and without the NUL character.
      onPassword?.(bytes.toString('utf8', 5, bytes.length - 1));
      end();
    });
    socket.write(packet('R', '\0\0\0\x03'));
  } else end();
}

function packet(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body, 'latin1')]);
}
