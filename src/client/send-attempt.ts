/**
 * Tracks how far a keyed request has got on the wire, using undici's diagnostics channel: whether its head was written at
 * all, and whether it was written to a reused connection, which the service may have closed in the meantime.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const usedSockets = new WeakSet<Socket>();
const attemptsByKey = new Map<string | undefined, SendAttempt>();

/** The sending of one attempt, identified by its key. */
export class SendAttempt {
  readonly #key: string;
  #socket: Socket | undefined;
  #isReused = false;
  #readBefore = 0;

  constructor(key: string) {
    this.#key = key;
    attemptsByKey.set(key, this);
  }

  /** Whether the service may have received any part of the request. */
  get hasBegun(): boolean {
    return this.#socket !== undefined;
  }

  /** Whether it was sent on a reused connection that has not received a single byte since. */
  get isStale(): boolean {
    return this.#isReused && this.#socket?.bytesRead === this.#readBefore;
  }

  /** Call this when the attempt has ended. */
  end(): void {
    if (attemptsByKey.get(this.#key) === this) attemptsByKey.delete(this.#key);
  }

  /** Call this when the head is about to be written. `reused`: whether another request was sent on this connection before. */
  begin(socket: Socket, isReused: boolean): void {
    this.#socket = socket;
    this.#isReused = isReused;
    this.#readBefore = socket.bytesRead;
  }
}

function onHead(message: unknown): void {
  const { headers, socket } = message as { headers: string; socket: Socket };
  const isReused = usedSockets.has(socket);
  usedSockets.add(socket);
  const key = /\r\nidempotency-key: ([^\r\n]*)\r\n/.exec(headers)?.[1];
  attemptsByKey.get(key)?.begin(socket, isReused);
}

subscribe('undici:client:sendHeaders', onHead);
