/** Webhooks of a service that is killed. */
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { kill, Machine } from '../support/machine.ts';
import { whenDone } from '../support/temporary.ts';
import { Receiver } from '../support/webhook-receiver.ts';

it('repeats an interrupted delivery with the same ID after it was killed and started again', async () => {
  const machine = await Machine.create();
  const hook = await Receiver.start();
  whenDone(() => hook.close());
  // The first request is never answered.
  hook.answer = (response, number) => (number === 1 ? undefined : response.writeHead(200).end());
  await machine.hereJson('local', 'up');
  const { id } = await machine.json<{ id: string }>('webhooks', 'create', hook.url, '--event', 'run.completed');
  await machine.startRun(await machine.agent('hello', '- say: hello'));
  await eventually('the first attempt', () => hook.deliveries.length === 1);
  kill((await machine.servicePid()) as number, 'SIGKILL');
  await machine.hereJson('local', 'up');
  await eventually('another attempt', () => hook.deliveries.length === 2);
  const [first, second] = hook.deliveries;
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.body).toEqual(first?.body);
  const deliveredEvent = await eventually('it is delivered', async () => {
    const { data } = await machine.json<{ data: { status: string; attempt_count: number }[] }>('webhooks', 'deliveries', '--webhook', id);
    return data[0]?.status === 'delivered' && data;
  });
  // The interrupted attempt has left no trace, but its event has.
  expect(deliveredEvent).toMatchObject([{ attempt_count: 1 }]);
});
