/** Watching a run of the real service that continues after its end, again and again, for less time than passes between two readings. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { Gate } from '../service/helpers/runtime.ts';
import { startApi } from '../service/helpers/service.ts';
import { afterTest } from '../support/temporary.ts';

it('reports each end of a run, also if it was continued for a moment only', async () => {
  const found = new Gate();
  const api = await startApi({
    behaviours: {
      brief: async () => {
        await found.opened;
        return { status: 'completed' };
      },
    },
  });
  const { url, token, teamId } = api.service;
  const client = new Client({ baseUrl: url, credential: bearerCredential(token), userAgent: 'aops/test' });
  afterTest(() => client.close());
  const agent_id = await api.agent('brief');
  const stop = new AbortController();
  afterTest(() => stop.abort(new Error('The test is over.')));
  const watch = new RunsWatch(
    client,
    { kind: 'filter', filter: { agent_id }, addsNew: true },
    { clock: systemClock, signal: stop.signal, teamId, messages: true },
  );
  const { run: started } = await api.ok('startRun', { body: { agent_id, message: 'one' } });
  const events: string[] = [];
  const messages = ['two', 'three'];
  for await (const { run, body } of watch.updates()) {
    found.open();
    if (run === undefined) continue;
    if (body.type === 'message') events.push(body.data.message.text_content ?? '');
    if (body.type !== 'run.finished') continue;
    events.push('finished');
    const message = messages.shift();
    if (message === undefined) break;
    await api.ok('postRunMessage', { params: { run_id: started.id }, body: { message } });
  }
  expect(events).toEqual(['one', 'finished', 'two', 'finished', 'three', 'finished']);
});
