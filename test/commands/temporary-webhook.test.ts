/** The webhook of a command that listens: it is extended in time, and its loss is reported. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Context } from '../../src/cli/kit/context.ts';
import { TemporaryWebhook } from '../../src/commands/webhooks/temporary-webhook.ts';
import { newClient } from '../client/harness.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { answerWith, ForeignService } from '../support/foreign-service.ts';

const minute = 60_000;
/** Counts the pauses between extensions: clients sleep, too. */
class PauseClock extends ManualClock {
  pauses = 0;
  /** Pauses that have not ended. */
  openPauses = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const end = super.sleep(ms, signal);
    if (ms !== 10 * minute) return end;
    this.pauses += 1;
    this.openPauses += 1;
    return end.finally(() => {
      this.openPauses -= 1;
    });
  }
}

const webhook = { id: 'w', url: 'http://127.0.0.1:9/', events: [], expires_at: '2026-11-28T10:00:00Z' };

async function listening(answers: (count: number) => unknown) {
  let count = 0;
  const changes: unknown[] = [];
  const service = await ForeignService.start({
    'POST /v2/teams/:team/webhooks': () => answerWith(201, { webhook }),
    'PATCH /v2/teams/:team/webhooks/:id': ({ body }) => {
      changes.push(body);
      count += 1;
      return answers(count);
    },
  });
  const clock = new PauseClock();
  const { client } = newClient(service.url);
  const controller = new AbortController();
  const context = { clock, signal: controller.signal, client: async () => client, teamId: () => 't' } as unknown as Context;
  const kept = await TemporaryWebhook.create(context, webhook.url, []);
  /** Lets this time pass, and waits until the webhook has been extended this often and the next pause has begun. */
  const extendedAfter = async (milliseconds: number, times: number): Promise<void> => {
    clock.advance(milliseconds);
    while (clock.pauses <= times) await turn();
    expect(changes).toHaveLength(times);
  };
  return { kept, extendedAfter, changes, service, clock };
}

it('is extended every ten minutes, until it is left', async () => {
  const { kept, extendedAfter, changes, service, clock } = await listening(() => ({ webhook }));
  expect(service.bodies('POST', '/v2/teams/t/webhooks')).toMatchObject([{ url: webhook.url, expires_in_seconds: 3_600 }]);
  await extendedAfter(10 * minute - 1, 0);
  await extendedAfter(1, 1);
  await extendedAfter(10 * minute - 1, 1);
  await extendedAfter(1, 2);
  expect(changes).toEqual([{ expires_in_seconds: 3_600 }, { expires_in_seconds: 3_600 }]);
  expect(clock.openPauses).toBe(1);
  kept.leave();
  await turn();
  expect([clock.openPauses, changes.length, kept.lost.aborted]).toEqual([0, 2, false]);
});

it('is lost when the service has deleted it, but not when the service refuses to extend it', async () => {
  const { kept, extendedAfter } = await listening((count) =>
    count === 1 ? answerWith(403, { error: 'forbidden', message: 'x' }) : answerWith(404, { error: 'webhook_not_found', message: 'x' }),
  );
  await extendedAfter(10 * minute, 1);
  expect(kept.lost.aborted).toBe(false);
  await extendedAfter(10 * minute, 2);
  while (!kept.lost.aborted) await turn();
  expect(kept.lost.reason).toMatchObject({ code: 'webhook_expired', exit: 1 });
  kept.leave();
});
