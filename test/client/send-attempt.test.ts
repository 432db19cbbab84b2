/** What is known about the sending of a keyed request. The heads are published as undici does it. */
import { channel } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import { SendAttempt } from '../../src/client/send-attempt.ts';

let keys = 0;
/** Tests share the registry of attempts with all others of their process. */
const newKey = (): string => `send-attempt-${++keys}`;
const newSocket = (bytesRead = 0) => ({ bytesRead });

const send = (socket: object, key?: string): void =>
  channel('undici:client:sendHeaders').publish({
    headers: `POST / HTTP/1.1\r\nhost: a\r\n${key === undefined ? '' : `idempotency-key: ${key}\r\n`}connection: keep-alive\r\n`,
    socket,
  });

const stateOf = (attempt: SendAttempt) => ({ hasBegun: attempt.hasBegun, isStale: attempt.isStale });

describe('an attempt', () => {
  it('has begun when the head with its key is written', () => {
    const key = newKey();
    const attempt = new SendAttempt(key);
    send(newSocket());
    send(newSocket(), newKey());
    send(newSocket(), `${key}x`);
    expect(stateOf(attempt)).toEqual({ hasBegun: false, isStale: false });
    send(newSocket(), key);
    expect(stateOf(attempt)).toEqual({ hasBegun: true, isStale: false });
  });

  it.each([undefined, newKey()])(
    'is stale on a connection that was used before, until something is read (after the key %s)',
    (previousKey) => {
      const [key, socket] = [newKey(), newSocket(100)];
      send(socket, previousKey);
      socket.bytesRead = 200;
      const attempt = new SendAttempt(key);
      send(socket, key);
      expect(stateOf(attempt)).toEqual({ hasBegun: true, isStale: true });
      socket.bytesRead = 201;
      expect(stateOf(attempt)).toEqual({ hasBegun: true, isStale: false });
    },
  );

  it('is not followed any longer once it has ended', () => {
    const key = newKey();
    const attempt = new SendAttempt(key);
    attempt.end();
    send(newSocket(), key);
    expect(attempt.hasBegun).toBe(false);
  });

  it('is followed although an earlier attempt with the same key ends', () => {
    const key = newKey();
    const earlier = new SendAttempt(key);
    const attempt = new SendAttempt(key);
    earlier.end();
    send(newSocket(), key);
    expect([earlier.hasBegun, attempt.hasBegun]).toEqual([false, true]);
  });
});
