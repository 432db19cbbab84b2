/** Messages of runs on a database of several nodes, where they are sent without waiting if nobody receives events of the run. */
import { expect, it } from 'vitest';
import type { RuntimeEvent } from '../../../../src/service/runtimes/run-host.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { Receiver } from '../../../support/webhook-receiver.ts';
import type { Behaviour } from '../../helpers/runtime.ts';
import { type Api, startApi } from '../../helpers/service.ts';

const text = (id: string): RuntimeEvent => ({ kind: 'text', id, text: id });

/** Each part is recorded together; what was recorded before is recorded again, as after an interruption. */
const parts = [['one'], ['one'], ['two', 'three'], ['three', 'four'], ['four'], ['five']];
const talk: Behaviour = async (host) => {
  for (const ids of parts) await host.emit(ids.map(text));
  await host.commit('end', null, [text('five'), text('six')], undefined, { status: 'completed' });
  return { status: 'completed' };
};

async function messagesOf(api: Api): Promise<[number, string | null | undefined][]> {
  const { id } = await api.run('talk');
  await api.until(id, 'completed');
  const { messages } = await api.ok('listRunMessages', { params: { run_id: id } });
  return messages.map(({ text_content: content }, index) => [index + 1, content]);
}

const expected = ['one', 'two', 'three', 'four', 'five', 'six'].map((id, index) => [index + 1, id]);

describeNeeding(needsPostgres, 'the messages of a run on Postgres', () => {
  const start = async () => startApi({ behaviours: { talk }, database: { url: await newDatabase() }, webhooks: { allow: ['loopback'] } });

  it('are recorded once, in order, although their database is not waited for', async () => {
    expect(await messagesOf(await start())).toEqual(expected);
  });

  it('are reported to webhooks once', async () => {
    const api = await start();
    const receiver = await Receiver.start();
    try {
      await api.ok('createTeamWebhook', { body: { url: receiver.url, events: ['run.message.created'] } });
      expect(await messagesOf(api)).toEqual(expected);
      await receiver.count(expected.length);
      const contents = receiver.deliveries.map(
        ({ json }) => (json as unknown as { data: { message: { text_content: string } } }).data.message.text_content,
      );
      expect(contents.sort()).toEqual(expected.map(([, content]) => content).sort());
    } finally {
      await receiver.close();
    }
  });
});
