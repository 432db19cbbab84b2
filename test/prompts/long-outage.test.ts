/** An outage that lasts longer than watching tolerates, with and without an open prompt. */
import { beforeAll, expect, it } from 'vitest';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { followRun } from '../../src/commands/runs/follow.ts';
import { graceMs } from '../../src/terminal/prompting/keyboard.ts';
import { maxOutageMilliseconds } from '../../src/watch/outage-tracker.ts';
import { FakeTty, fastClock, watchingContext } from '../support/fake-tty.ts';
import { Forwarder } from '../support/forwarder.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { afterTest } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** A run that waits for an approval, watched through a proxy. The clock runs 50 times faster than the real one. */
async function startWatching(onRequest: 'prompt' | 'wait') {
  const clock = fastClock(50);
  const tty = new FakeTty(clock);
  const proxy = await Forwarder.to(service.service.url);
  const client = new Client({ baseUrl: proxy.url, credential: bearerCredential(service.service.token), userAgent: 'test' });
  afterTest(() => client.close());
  const run = await service.waiting('- approve: { id: pay, title: "Pay?" }');
  const context = watchingContext(tty, clock, client, new AbortController().signal);
  const watch = followRun(context, { id: run }, { onRequest, answers: undefined });
  await tty.shows('? Pay?');
  return { clock, tty, proxy, run, watch };
}

it('does not end watching while a prompt is open', async () => {
  const { clock, tty, proxy, run, watch } = await startWatching('prompt');
  proxy.goDown();
  await Promise.race([clock.sleep(2 * maxOutageMilliseconds), watch]);
  expect(proxy.refusedCount).toBeGreaterThan(1);
  proxy.up = true;
  tty.press('\u001b[B');
  await tty.shows('❯ Approve');
  await clock.sleep(graceMs);
  tty.press('\r');
  expect(await watch).toMatchObject({ id: run, status: 'completed' });
});

it('otherwise ends watching, with its reason on the screen once', async () => {
  const { tty, proxy, watch } = await startWatching('wait');
  proxy.goDown();
  await expect(watch).rejects.toMatchObject({ exit: 8, message: expect.stringMatching(/^The service has not answered for 1m/) });
  expect(tty.drawings.filter(({ text }) => text.includes('Could not reach'))).toHaveLength(1);
});
