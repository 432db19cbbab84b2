/** Watching many runs of the real service together, through its streams and by polling. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { Forwarder } from '../support/forwarder.ts';
import { startTestService } from '../support/service.ts';
import { afterTest } from '../support/temporary.ts';

const service = await startTestService();

const steps = '- say: one\n- approve: { id: pay, title: "Pay?" }\n- say: two';

/** Watches runs until all have ended, and returns their texts and the requests that it took. */
async function watchAll(forwarder: Forwarder, ids: readonly string[]): Promise<Map<string, string[]>> {
  const client = new Client({ baseUrl: forwarder.url, credential: bearerCredential(service.service.token), userAgent: 'aops/test' });
  afterTest(() => client.close());
  const watch = new RunsWatch(
    client,
    { kind: 'named', runs: ids.map((id) => ({ id })) },
    {
      clock: systemClock,
      signal: new AbortController().signal,
      teamId: service.service.teamId,
      messages: true,
    },
  );
  const texts = new Map<string, string[]>(ids.map((id) => [id, []]));
  let openRequests = ids.length;
  for await (const { run, body } of watch.updates()) {
    if (run === undefined) continue;
    if (body.type === 'message') texts.get(run.id)?.push(body.data.message.text_content ?? '');
    if (body.type === 'run.finished') texts.get(run.id)?.push(`finished ${body.data.run.status}`);
    if (body.type !== 'human_request.pending') continue;
    openRequests -= 1;
    if (openRequests > 0) continue;
    for (const id of ids) {
      const { request } = await service.get(id);
      await service.api('POST', `/runs/${id}/human-requests/${request?.id}/respond`, { approved: true });
    }
    watch.hurry();
  }
  return texts;
}

it.each(['streams', 'polling', 'broken streams'] as const)('reports every message of every run once and in order, with %s', async (way) => {
  const forwarder = await Forwarder.to(service.service.url);
  forwarder.streams = way !== 'polling';
  if (way === 'broken streams') forwarder.eventsPerStream = 7;
  const agent = await service.agent(steps);
  const ids = await Promise.all(Array.from({ length: 6 }, () => service.start(agent)));
  const texts = await watchAll(forwarder, ids);
  for (const id of ids) expect(texts.get(id)).toEqual(['one', 'Approved: Pay?', 'two', 'finished completed']);
  const paths = forwarder.requests.map((path) => path.split('?')[0]);
  const streamed = paths.filter((path) => path?.endsWith('/runs/events')).length;
  // One stream for all runs, and no requests for messages.
  if (way === 'streams') expect([streamed, paths.filter((path) => path?.endsWith('/messages')).length]).toEqual([1, 0]);
  if (way === 'polling') expect(streamed).toBe(1);
});
