/**
 * Tracks how far a keyed request has got on the wire, using undici's diagnostics channel: whether its head was written at
 * all, and whether it was written to a reused connection, which the service may have closed in the meantime.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const carried = new WeakSet<Socket>();
const tracked = new Map<string, Sending>();
let subscribed = false;

/** Tracks from now on which connections were used. */
export function followConnections(): void {
  if (!subscribed) subscribe('undici:client:sendHeaders', onHead);
  subscribed = true;
}

/** The sending of one attempt, identified by its key. */
export class Sending {
  readonly #key: string;
  #socket: Socket | undefined;
  #reused = false;
  #readBefore = 0;

  constructor(key: string) {
    this.#key = key;
    followConnections();
    tracked.set(key, this);
  }

  /** Whether the service may have received any part of the request. */
  get begun(): boolean {
    return this.#socket !== undefined;
  }

  /** Whether it was sent on a reused connection that has not received a single byte since. */
  get stale(): boolean {
    return this.#reused && this.#socket?.bytesRead === this.#readBefore;
  }

  /** Call this when the attempt has ended. */
  end(): void {
    if (tracked.get(this.#key) === this) tracked.delete(this.#key);
  }

  /** Call this when the head is about to be written. */
  begin(socket: Socket, reused: boolean): void {
    this.#socket = socket;
    this.#reused = reused;
    this.#readBefore = socket.bytesRead;
  }
}

function onHead(message: unknown): void {
  const { headers, socket } = message as { headers: string; socket: Socket };
  const reused = carried.has(socket);
  carried.add(socket);
  if (tracked.size === 0) return;
  const [, key] = /\r\nidempotency-key: ([^\r\n]*)\r\n/.exec(headers) ?? [];
  if (key !== undefined) tracked.get(key)?.begin(socket, reused);
}
