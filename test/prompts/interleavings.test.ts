/**
 * One person presses keys at random, and another answers at random, for the same run of a real service. Whatever
 * happens, no request is decided by a key that was pressed before the request had been readable for the grace period.
 */
import { beforeAll, expect, it } from 'vitest';
import { orAborted } from '../../src/base/abort.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { followRun } from '../../src/commands/runs/follow.ts';
import { graceMs } from '../../src/terminal/prompting/keyboard.ts';
import { FakeTty, fastClock, watchingContext } from '../support/fake-tty.ts';
import { randomFrom } from '../support/random.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The clock that measures waits and grace periods runs this many times faster. */
const factor = 20;
const interleavings = 200;
const concurrency = 25;

const titles = ['Publish the first?', 'Delete the second?'];

let decisions = 0;

let service: TestService;
let agent: string;
beforeAll(async () => {
  service = await startTestService({ rateLimit: { limit: 1_000_000, windowSeconds: 60 } });
  agent = await service.agent(
    titles.map((title, index) => `- approve: { id: r${index}, title: "${title}", on_deny: continue }`).join('\n'),
  );
});

async function interleave(seed: number): Promise<FakeTty> {
  const random = randomFrom(seed);
  const clock = fastClock(factor);
  const tty = new FakeTty(clock);
  const client = new Client({ baseUrl: service.service.url, credential: bearerCredential(service.service.token), userAgent: 'test' });
  const run = await service.start(agent);
  const controller = new AbortController();
  const context = watchingContext(tty, clock, client, controller.signal);
  const person = async (): Promise<void> => {
    const keys = ['\r', '\r', '\r', '\u001b[B', '\u001b[B\r', '\u001b[A', 'y', ' ', '\n'];
    while (!controller.signal.aborted) {
      // Bursts, as from a person who types without looking, and pauses of about the length of the grace period.
      await clock.sleep(random() < 0.5 ? graceMs * (0.5 + random()) : random() * 250, controller.signal);
      tty.press(keys[Math.floor(random() * keys.length)] as string);
    }
  };
  const somebodyElse = async (): Promise<void> => {
    while (!controller.signal.aborted) {
      const { request: next } = await service.get(run);
      // Some requests are left to the person, so that the person decides some on a slow machine, too.
      if (next && random() < 0.3) await orAborted(tty.shows(`✓ ${next.title}`), controller.signal);
      await clock.sleep(random() * 8_000, controller.signal);
      const { request } = await service.get(run);
      if (request)
        await service.api('POST', `/runs/${run}/human-requests/${request.id}/respond`, { approved: false }).catch(() => undefined);
    }
  };
  const otherDecisions = [person(), somebodyElse()].map((decision) => decision.catch(() => undefined));
  await followRun(context, { id: run }, { onRequest: 'prompt', answers: undefined }).catch((error: unknown) => {
    // The request may have been left pending.
    if ((error as { code?: string }).code !== 'run_waiting') throw error;
  });
  controller.abort(new Error('over'));
  await Promise.all(otherDecisions);
  await client.close();
  return tty;
}

it.each(Array.from({ length: interleavings / concurrency }, (_, batch) => batch * concurrency + 1))(
  'keeps every decision behind the grace period (seeds from %i)',
  async (first) => {
    const ttys = await Promise.all(Array.from({ length: concurrency }, (_, index) => interleave(first + index)));
    for (const [index, tty] of ttys.entries()) {
      for (const title of titles) {
        const decisionLine = tty.drawings.find(({ text }) => text.includes(`✓ ${title}`));
        if (!decisionLine) continue;
        decisions += 1;
        const readable = tty.drawnAt(`? ${title}`) as number;
        const key = tty.presses.filter(({ at, text }) => at <= decisionLine.at && /[\r\n]/.test(text)).at(-1);
        expect(key && key.at - readable, `seed ${first + index}: ${title}`).toBeGreaterThanOrEqual(graceMs);
      }
    }
  },
);

it('lets the person decide some of the requests, or else the test above would prove nothing', () => {
  expect(decisions).toBeGreaterThan(interleavings / 10);
});
