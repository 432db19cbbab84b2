/** A change of an agent in words: the real binary on a pseudo-terminal. */
import { beforeAll, describe, expect, it } from 'vitest';
import { Machine } from '../support/machine.ts';
import { keys } from '../support/screen.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  expect((await machine.aops('local', 'up', '--ephemeral')).code).toBe(0);
  await machine.agent('clerk', '- say: Hello\n- approve: { id: pay, title: "Pay?" }\n- approve: { id: book, title: "Book?" }');
  expect((await machine.aops('revisions', 'create', 'clerk')).code).toBe(0);
});

const generate = ['revisions', 'generate', 'clerk@latest', '--watch', '--prompt'];

describe('a builder run on a terminal', () => {
  it('asks, shows its proposal as a coloured diff, and can be accepted', async () => {
    const screen = machine.terminal(...generate, 'remove the approval. Then say "Bye".');
    await screen.shows('2 steps match. Which one do you mean?');
    await screen.asks('Leave it pending');
    screen.type(keys.down, keys.down, keys.enter);
    await screen.shows('Removed Step 3 (approve): Book?');
    await screen.shows('+  - say: Bye');
    expect(screen.raw).toContain('\u001b[32m+  - say: Bye');
    await screen.shows('What do you want to do with this proposal?');
    await screen.asks('Leave it for later');
    screen.type(keys.down, keys.enter);
    await screen.shows('Accepted: the proposal was applied to the revision.');
    expect(await screen.exit).toBe(0);
    expect((await machine.here('revisions', 'get', 'clerk@latest', '--procedure')).stdout).toContain('- say: Bye');
  });

  it('withdraws its question when another client answers, and can be left for later', async () => {
    const screen = machine.terminal(...generate, 'add an approval');
    await screen.shows('what should be approved?');
    expect((await machine.aops('revisions', 'answer', 'clerk@latest', '--answer', 'Ship it?')).code).toBe(0);
    await screen.shows('Somebody else answered.');
    await screen.shows('Added a step (approve): Ship it?');
    await screen.asks('Leave it for later');
    screen.type(keys.up, keys.enter);
    await screen.shows('is waiting for it to be accepted or declined');
    expect(await screen.exit).toBe(12);
    expect(screen.text).not.toContain('error:');

    const secondScreen = machine.terminal('revisions', 'watch', 'clerk@latest');
    await secondScreen.shows('What do you want to do with this proposal?');
    secondScreen.type(keys.ctrlC);
    await secondScreen.shows('Detached. The builder run is waiting for a decision. Come back with: aops revisions watch');
    expect(await secondScreen.exit).toBe(130);
    expect((await machine.aops('revisions', 'decline', 'clerk@latest')).code).toBe(0);
  });
});
