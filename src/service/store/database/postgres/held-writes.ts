/** Writes several statements to a connection with one system call, which takes longer than to create a statement. */
import type { Writable } from 'node:stream';
import type { PoolClient } from 'pg';

/** The connection of a client to the server. */
export const streamOf = (client: PoolClient): Writable => (client as PoolClient & { connection: { stream: Writable } }).connection.stream;

/** Keeps what is sent until the next flush. */
export function hold(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  // If the transaction now does something else, its locks are needed nevertheless.
  setImmediate(() => flush(stream));
}

export function flush(stream: Writable): void {
  while (stream.writableCorked > 0) stream.uncork();
}
