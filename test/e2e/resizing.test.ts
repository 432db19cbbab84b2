/** Windows that are resized at a prompt: what a terminal that rewraps lines shows afterwards. */
import { beforeAll, expect, it } from 'vitest';
import { Machine } from '../support/machine.ts';
import { keys, type Screen } from '../support/screen.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.json('local', 'up', '--ephemeral');
});

/** How many rows contain this text. */
const count = async (screen: Screen, text: string): Promise<number> => (await screen.rows()).filter((row) => row.includes(text)).length;

const widths = [34, 90, 25, 60];

it('leave no remains of a request', async () => {
  const description = 'The invoices of this month, which are forty-two, come to 18,240 euros.';
  await machine.agent('payer', `- approve: { id: pay, title: "Pay the invoices?", description: "${description}" }\n- say: "went on"`);
  const run = await machine.startRun('payer');
  const watch = machine.terminal('runs', 'watch', run);
  await watch.asks('Leave it pending');
  for (const columns of widths) {
    watch.resize(columns);
    await watch.asks('Leave it pending');
    for (const uniqueText of ['? Pay the invoices?', 'The invoices of', 'Leave it pending', '⏎'])
      expect(await count(watch, uniqueText)).toBe(1);
  }
  watch.type(keys.down);
  await watch.shows('❯ Approve');
  expect(await count(watch, '❯ Approve')).toBe(1);
  watch.type(keys.enter);
  await watch.shows('went on');
  expect(await watch.exit).toBe(0);
  expect(await count(watch, '✓ Pay the invoices? Approve')).toBe(1);
  expect(await count(watch, 'The invoices of')).toBe(1);
  for (const absentText of ['? Pay the invoices? ', 'Leave it pending', '⏎']) expect(await count(watch, absentText)).toBe(0);
});

it('leave no remains of a text that is being typed', async () => {
  await machine.agent('writer', '- ask: { id: note, title: "The release", questions: [{ question: "What changed?" }] }\n- say: thanks');
  const watch = machine.terminal('runs', 'watch', await machine.startRun('writer'));
  await watch.asks('What changed?');
  watch.type('a text that is longer than the narrowest window');
  await watch.shows('narrowest window');
  for (const columns of widths) {
    watch.resize(columns);
    await watch.asks('What changed?');
    for (const uniqueText of ['? What changed?', '⏎']) expect(await count(watch, uniqueText)).toBe(1);
  }
  watch.type(keys.enter);
  await watch.shows('thanks');
  expect(await watch.exit).toBe(0);
  expect(await count(watch, '✓ What changed?')).toBe(1);
  expect(await count(watch, '? What changed? ')).toBe(0);
});

it('leave no remains of a confirmation', async () => {
  const name = 'an agent with a name that does not fit in a narrow window';
  await machine.agent(name, '- say: hi');
  const deletion = machine.terminal('agents', 'delete', name);
  await deletion.shows('(y/N)');
  for (const columns of widths) {
    deletion.resize(columns);
    await deletion.shows('Delete');
    expect(await count(deletion, '? Delete')).toBe(1);
    expect(
      (await deletion.rows())
        .join('')
        .replaceAll(/\s/g, '')
        .match(/\(y\/N\)/g),
    ).toHaveLength(1);
  }
  deletion.type('y', keys.enter);
  await deletion.shows('Deleted');
  expect(await deletion.exit).toBe(0);
  expect(await count(deletion, '✓ Delete')).toBe(1);
  expect(await count(deletion, '? Delete')).toBe(0);
});
