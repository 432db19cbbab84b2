/** `aops inbox` as a person uses it: on a pseudo-terminal. */
import { beforeAll, describe, expect, it } from 'vitest';
import { Machine } from '../support/machine.ts';
import { keys } from '../support/screen.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.json('local', 'up', '--ephemeral', '--exec', 'off');
  await machine.agent('payer', '- approve: { id: pay, title: "Pay the invoices?" }\n- say: "went on"');
  await machine.agent(
    'asker',
    '- ask: { id: who, questions: [{ question: "Which vendor?", options: [{ label: Acme }, { label: Other }] }] }',
  );
});

/** A run that waits for somebody. */
async function startAsking(agent: string): Promise<string> {
  const run = await machine.startRun(agent);
  expect((await machine.here('runs', 'wait', run, '--for', 'waiting')).code).toBe(0);
  return run;
}

const statusOf = async (run: string): Promise<string> => (await machine.here('runs', 'get', run, '--jq', '.status')).stdout.trim();

describe('aops inbox', () => {
  it('lets a person pick a request, answer it, continue, and leave', async () => {
    const first = await startAsking('payer');
    const second = await startAsking('asker');
    const inbox = machine.terminal('inbox');
    await inbox.shows('2 requests are waiting for an answer');
    await inbox.asks(/payer {2}Pay the invoices\?/);
    inbox.type(keys.enter);
    await inbox.asks('Approve');
    inbox.type(keys.down, keys.enter);
    await inbox.shows('1 request is waiting for an answer');
    await inbox.asks(/asker {2}Which vendor\?/);
    inbox.type(keys.down, keys.enter);
    await inbox.shows('Answered 1; 1 still pending.');
    expect(await inbox.exit).toBe(0);
    expect((await machine.here('runs', 'wait', first)).code).toBe(0);
    expect(await statusOf(second)).toBe('waiting');

    const remainingInbox = machine.terminal('inbox');
    await remainingInbox.asks('1 request is waiting for an answer');
    remainingInbox.type(keys.enter);
    await remainingInbox.asks('Other');
    remainingInbox.type(keys.down, keys.down, keys.enter);
    await remainingInbox.shows('Answered 1; nothing else is pending.');
    expect(await remainingInbox.exit).toBe(0);
  });

  it('says so when somebody else was faster', async () => {
    const run = await startAsking('payer');
    const inbox = machine.terminal('inbox');
    await inbox.asks('1 request is waiting for an answer');
    inbox.type(keys.enter);
    await inbox.shows('Leave it pending');
    expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    await inbox.shows('The request is no longer pending: someone else answered it, or the run was stopped.');
    await inbox.shows('Nothing is waiting for an answer.');
    expect(await inbox.exit).toBe(0);
  });

  it('ignores keys for a moment when the list replaces a request that somebody else answered', async () => {
    const [first, second] = [await startAsking('payer'), await startAsking('asker')];
    const inbox = machine.terminal('inbox');
    await inbox.asks('2 requests are waiting for an answer');
    inbox.type(keys.enter);
    await inbox.asks('Leave it pending');
    expect((await machine.here('runs', 'respond', first, '--approve')).code).toBe(0);
    await inbox.shows('The request is no longer pending');
    await inbox.shows('1 request is waiting for an answer');
    await inbox.shows('the keys work in a moment');
    inbox.type(keys.enter);
    await inbox.asks(/asker {2}Which vendor\?/);
    inbox.type(keys.ctrlC);
    expect(await inbox.exit).toBe(130);
    expect(inbox.text).not.toContain('✓ 1 request is waiting');
    expect((await machine.here('runs', 'stop', second)).code).toBe(0);
  });

  it('asks what comes with --watch, leaves alone what is to be left, and ends with Ctrl-C', async () => {
    const remainingRun = await startAsking('payer');
    const inbox = machine.terminal('inbox', '--watch');
    await inbox.asks('Leave it pending');
    inbox.type(keys.up, keys.enter);
    await inbox.shows('Waiting for requests');
    const run = await machine.startRun('asker');
    await inbox.asks('Which vendor?');
    inbox.type(keys.down, keys.enter);
    await inbox.shows('1 answered');
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    inbox.type(keys.ctrlC);
    expect(await inbox.exit).toBe(130);
    expect(await statusOf(remainingRun)).toBe('waiting');
  });

  it('prints NDJSON on a terminal instead of asking', async () => {
    const run = await startAsking('payer');
    const inbox = machine.terminal('inbox', '--watch', '-o', 'ndjson');
    await inbox.shows('human_request.pending');
    inbox.type(keys.enter, keys.down, keys.enter);
    // No key has answered it.
    expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    await inbox.shows('human_request.resolved');
    inbox.type(keys.ctrlC);
    expect(await inbox.exit).toBe(130);
  });
});

describe('aops inbox at 80x24', () => {
  it('shows the position, the age, and what the run did, above a prompt that fits on the screen', async () => {
    await machine.agent(
      'reporter',
      `${Array.from({ length: 9 }, (_, index) => `- say: "Step ${index + 1} ${'is long '.repeat(20)}"`).join('\n')}\n- approve: { id: pay, title: "Publish?", description: "The report is complete." }`,
    );
    const { data } = await machine.json<{ data: { run_id: string }[] }>('inbox', '--no-input');
    for (const { run_id } of data) expect((await machine.here('runs', 'stop', run_id)).code).toBe(0);
    const [first, second] = [await startAsking('reporter'), await startAsking('payer')];
    const command = '(: < /dev/tty) 2> /dev/null || echo "no terminal for $AOPS_EVENT"';
    const size = { columns: 80, rows: 24 };
    const inbox = machine.terminalOf(size, 'inbox', '--watch', '--type', 'approval', '--exec', command);
    await inbox.shows(/reporter: reporter #\d+ {2}waiting for \d+s {2}1 of 2/);
    await inbox.shows(/Step 9 is long.*…/);
    await inbox.asks('Publish?');
    const rows = await inbox.visibleRows();
    expect(rows.join('\n')).toMatch(/1 of 2[\s\S]*Step 5[\s\S]*Publish\?\nThe report is complete\.\n[\s\S]*Leave it pending[\s\S]*⏎/);
    inbox.type(keys.up, keys.enter);
    await inbox.shows('Left pending: Publish?');
    await inbox.shows('2 of 2');
    await inbox.asks('Pay the invoices?');
    inbox.type(keys.down, keys.down, keys.down, keys.enter);
    await inbox.asks('Your comment?');
    inbox.type('Within the budget', keys.enter);
    await inbox.shows('Waiting for requests');
    expect((await machine.here('runs', 'wait', second)).code).toBe(0);
    expect((await machine.here('runs', 'messages', second)).stdout).toContain('Within the budget');
    inbox.type(keys.ctrlC);
    await inbox.shows('Answered 1; 1 still pending. Answer them with: aops inbox');
    expect(await inbox.exit).toBe(130);
    expect(inbox.text).toContain('no terminal for human_request.pending');
    expect(await statusOf(first)).toBe('waiting');
  });
});
