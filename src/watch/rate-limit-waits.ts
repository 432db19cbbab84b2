/** Turns waits of the HTTP client into events of what is being watched, emitted when they start rather than when they are over. */
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { WaitingBody } from './events.ts';

/** The event of a wait for the rate limit. */
export const rateLimitWaiting = (clock: Clock, milliseconds: number): WaitingBody => ({
  type: 'rate_limit.waiting',
  data: { wait_seconds: Math.ceil(milliseconds / 1_000), until: new Date(clock.now() + milliseconds).toISOString() },
});

/** The events, together with events for waits for the rate limit as they occur. */
export async function* withWaits<Body>(
  client: Pick<Client, 'onWaiting'>,
  clock: Clock,
  events: AsyncGenerator<Body, void, undefined>,
): AsyncGenerator<Body | WaitingBody, void, undefined> {
  const waitingBodies: WaitingBody[] = [];
  let wake = (): void => undefined;
  const stop = client.onWaiting((milliseconds) => {
    waitingBodies.push(rateLimitWaiting(clock, milliseconds));
    wake();
  });
  try {
    for (;;) {
      const next = events.next();
      // A reader that stops in between does not wait for it.
      next.catch(() => undefined);
      let result: IteratorResult<Body, void> | undefined;
      while (result === undefined) {
        const wakeUp = new Promise<undefined>((resolve) => {
          wake = () => resolve(undefined);
        });
        result = waitingBodies.length > 0 ? undefined : await Promise.race([next, wakeUp]);
        for (const wait of waitingBodies.splice(0)) yield wait;
      }
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    stop();
    // This closes a stream. It is not awaited, because the pending event may never arrive.
    void events.return().catch(() => undefined);
  }
}
