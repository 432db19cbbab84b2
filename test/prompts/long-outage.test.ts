/** A person who thinks about an answer for longer than an outage may last. */
import { beforeAll, expect, it } from 'vitest';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { followRun } from '../../src/commands/runs/follow.ts';
import { graceMs } from '../../src/terminal/prompting/keyboard.ts';
import { maxOutageMilliseconds } from '../../src/watch/outage-tracker.ts';
import { FakeTty, fastClock, watchingContext } from '../support/fake-tty.ts';
import { Forwarder } from '../support/forwarder.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

it('does not end watching while a prompt is open', async () => {
  const clock = fastClock(50);
  const tty = new FakeTty(clock);
  const proxy = await Forwarder.to(service.service.url);
  const client = new Client({ baseUrl: proxy.url, credential: bearerCredential(service.service.token), userAgent: 'test' });
  const run = await service.waiting('- approve: { id: pay, title: "Pay?" }');
  const context = watchingContext(tty, clock, client, new AbortController().signal);
  const watched = followRun(context, { id: run }, { onRequest: 'prompt', answers: undefined });
  await tty.shows('? Pay?');
  proxy.goDown();
  // Not less than the time that an outage may last, and the pause before the poll that would notice it.
  await Promise.race([clock.sleep(2 * maxOutageMilliseconds), watched]);
  expect(proxy.refused).toBeGreaterThan(1);
  proxy.up = true;
  tty.press('\u001b[B');
  await tty.shows('❯ Approve');
  await clock.sleep(graceMs);
  tty.press('\r');
  expect(await watched).toMatchObject({ id: run, status: 'completed' });
  await client.close();
});
