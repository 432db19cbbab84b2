/** Prompts on real pseudo-terminals: which keys decide, and what happens to a text that a person wrote. */
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Forwarder } from '../support/forwarder.ts';
import { Machine } from '../support/machine.ts';
import { keys, type Screen } from '../support/screen.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.json('local', 'up', '--ephemeral', '--exec', 'off');
  await machine.agent('payer', '- say: started\n- approve: { id: pay, title: "Pay the invoices?", on_deny: continue }\n- say: "went on"');
  await machine.agent(
    'writer',
    '- ask: { id: note, title: "The release", questions: [{ question: "What changed?" }] }\n- say: "noted: {{ answers.note }}"',
  );
});

const startAsking = async (agent: string): Promise<string> => (await machine.runUntil(agent, 'waiting')).id;

const statusOf = (run: string): Promise<string> => machine.runStatus(run);

/** The files with texts that could not be sent. Their names begin with the second in which they were saved. */
async function unsentFiles(): Promise<string[]> {
  const folder = path.join(machine.folder, 'data/unsent');
  return existsSync(folder) ? readdir(folder) : [];
}

/** The texts that could not be sent since there were these files. */
async function unsentSince(earlierFiles: readonly string[]): Promise<string[]> {
  const newFiles = (await unsentFiles()).filter((name) => !earlierFiles.includes(name));
  return Promise.all(newFiles.map((name) => machine.read(`data/unsent/${name}`)));
}

const approve = `${keys.down}${keys.enter}`;

describe('a prompt that appears by itself', () => {
  it.each([
    ['before it is drawn', 0],
    ['when it is drawn', 1],
    ['100 ms after it was drawn', 2],
  ])('is not answered by keys pressed %s', async (_when, moment) => {
    const run = await startAsking('payer');
    const watch = machine.terminal('runs', 'watch', run);
    if (moment === 0) watch.type(approve, keys.enter);
    await watch.shows('Pay the invoices?');
    if (moment === 2) await pause(100);
    if (moment > 0) watch.type(approve, keys.enter);
    await watch.shows('the keys work in a moment');
    await watch.asks('Leave it pending');
    expect(watch.text).not.toContain('❯');
    expect(await statusOf(run)).toBe('waiting');
    watch.type(keys.enter);
    await watch.shows('Choose with the arrow keys first.');
    watch.type(keys.down, keys.enter);
    await watch.shows('✓ Pay the invoices? Approve');
    expect(await watch.exit).toBe(0);
  });

  it('is answered by the person, not by the arguments or by early keys, with the MCP tool for answers', async () => {
    const run = await startAsking('payer');
    const tool = ['mcp', 'call', 'respond_to_human_request', '-f', `run_id=${run}`];
    const answered = machine.terminal(...tool, '-F', 'approved=true');
    await answered.shows('accepts no answer, so leave out approved');
    expect(await answered.exit).toBe(2);

    const call = machine.terminal(...tool);
    call.type(approve, keys.enter);
    await call.shows('Pay the invoices?');
    await call.asks('Leave it pending');
    expect(await statusOf(run)).toBe('waiting');
    call.type(keys.down, keys.enter);
    await call.shows('✓ Pay the invoices? Approve');
    expect(await call.exit).toBe(0);
  });

  it('is not answered by keys that were meant for a prompt it replaced', async () => {
    await machine.agent('twice', '- approve: { id: a, title: "Harmless?" }\n- approve: { id: b, title: "Delete production?" }');
    const run = await startAsking('twice');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('Harmless?');
    watch.type(keys.down);
    await watch.shows('❯ Approve');
    expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    await watch.shows('Delete production?');
    watch.type(keys.enter, approve);
    await watch.asks('Leave it pending');
    expect(await statusOf(run)).toBe('waiting');
    watch.type(keys.ctrlC);
    expect(await watch.exit).toBe(130);
  });

  it('is not answered by keys pressed when it is drawn, if it is a question', async () => {
    const run = await startAsking('writer');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.shows('What changed?');
    watch.type('typed too early', keys.enter);
    await watch.shows('the keys work in a moment');
    await watch.asks('What changed?');
    expect(await statusOf(run)).toBe('waiting');
    watch.type('the text', keys.enter);
    await watch.shows('noted: the text');
    expect(await watch.exit).toBe(0);
  });

  it('is not answered in a waiting inbox either', async () => {
    const inbox = machine.terminal('inbox', '--watch', '--agent', 'writer');
    await inbox.shows('Waiting for requests');
    inbox.type(keys.enter, 'typed too early', keys.enter);
    const run = await machine.startRun('writer');
    await inbox.asks('What changed?');
    expect(await statusOf(run)).toBe('waiting');
    expect(inbox.text.slice(inbox.text.lastIndexOf('What changed?'))).not.toContain('too early');
    inbox.type(keys.ctrlC);
    expect(await inbox.exit).toBe(130);
    expect((await machine.here('runs', 'stop', run)).code).toBe(0);
  });
});

it('discards keys that are pressed between two questions of one request', async () => {
  await machine.agent(
    'two',
    '- ask: { id: q, title: "Two", questions: [{ question: "First?" }, { question: "Second?" }] }\n- say: "{{ answers.q }}"',
  );
  const run = await startAsking('two');
  const watch = machine.terminal('runs', 'watch', run);
  await watch.asks('First?');
  watch.type(`one`, `${keys.enter}${keys.enter}`);
  await watch.asks('Second?');
  watch.type('two', keys.enter);
  await watch.shows('"Second?":"two"');
  expect(await watch.exit).toBe(0);
});

describe('a text that a person wrote', () => {
  /** An editor that writes a text, and ends when the file exists whose path is returned. */
  async function slowEditor(): Promise<string> {
    const release = path.join(machine.folder, 'editor-release');
    await rm(release, { force: true });
    const script = `#!/bin/sh\nprintf 'precious\\nnotes\\n' > "$1"\nprintf '[editing]' > /dev/tty\nwhile [ ! -e '${release}' ]; do sleep 0.05; done\n`;
    machine.env.EDITOR = await machine.file('bin/slow-editor', script);
    await chmod(machine.env.EDITOR, 0o755);
    return release;
  }

  it('stays in the editor when another client answers, and is saved when the editor ends', async () => {
    const release = await slowEditor();
    const run = await startAsking('writer');
    const watch = machine.terminal('runs', 'watch', run);
    delete machine.env.EDITOR;
    await watch.shows('open your editor');
    watch.type(keys.enter);
    // What was printed before has been read, too.
    await watch.shows('[editing]');
    const before = watch.raw;
    expect((await machine.here('runs', 'respond', run, '--answer', 'faster')).code).toBe(0);
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    // Longer than the watch needs to notice.
    await pause(1_500);
    expect(watch.raw).toBe(before);
    await writeFile(release, '');
    await watch.shows('Somebody else answered.');
    await watch.shows(/Your text was not sent\. It is saved in \S+unsent/);
    await watch.shows(/completed after/);
    expect(await watch.exit).toBe(0);
    expect(await unsentSince([])).toEqual(['precious\nnotes\n']);
    const folder = path.join(machine.folder, 'data/unsent');
    const [name = ''] = await readdir(folder);
    expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
    expect(watch.text.match(/It is saved in/g)).toHaveLength(1);
  });

  it('stays in the editor when the service is unreachable, which is reported afterwards', async () => {
    const release = await slowEditor();
    const { url, team_id, data_dir } = await machine.hereJson<{ url: string; team_id: string; data_dir: string }>('local', 'status');
    const proxy = await Forwarder.to(url);
    const run = await startAsking('writer');
    const access = {
      AOPS_BASE_URL: proxy.url,
      AOPS_TEAM_ID: team_id,
      AOPS_API_KEY: (await readFile(path.join(data_dir, 'token'), 'utf8')).trim(),
    };
    Object.assign(machine.env, access);
    const watch = machine.terminal('runs', 'watch', run);
    for (const name of ['EDITOR', ...Object.keys(access)]) delete machine.env[name];
    await watch.shows('open your editor');
    watch.type(keys.enter);
    // What was printed before has been read, too.
    await watch.shows('[editing]');
    const before = watch.raw;
    proxy.goDown();
    // The second failure is reported.
    await eventually('the service was tried a few times', () => proxy.refusedCount >= 4);
    expect(watch.raw).toBe(before);
    proxy.up = true;
    await writeFile(release, '');
    await watch.shows('The service has not answered since');
    await watch.shows('noted: precious');
    expect(await watch.exit).toBe(0);
  });

  it('is saved when it was only typed in part', async () => {
    const before = await unsentFiles();
    const run = await startAsking('writer');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('What changed?');
    watch.type('half a thought');
    await watch.shows('half a thought');
    expect((await machine.here('runs', 'respond', run, '--answer', 'faster')).code).toBe(0);
    await watch.shows(/Somebody else answered\.\nYour text was not sent\./);
    expect(await watch.exit).toBe(0);
    expect(await unsentSince(before)).toEqual(['half a thought\n']);
  });

  it('is saved when it was part of the reason for a denial', async () => {
    const before = await unsentFiles();
    const run = await startAsking('payer');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('Leave it pending');
    watch.type(keys.up, keys.up, keys.enter);
    await watch.asks('Why?');
    watch.type('half a reason');
    await watch.shows('half a reason');
    expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    await watch.shows(/Somebody else answered\.\nYour text was not sent\./);
    expect(await watch.exit).toBe(0);
    expect(await unsentSince(before)).toEqual(['half a reason\n']);
  });

  it('is saved together with the answers to earlier questions', async () => {
    await machine.agent('both', '- ask: { id: q, title: "Both", questions: [{ question: "First?" }, { question: "Second?" }] }');
    const before = await unsentFiles();
    const run = await startAsking('both');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('First?');
    watch.type('a whole answer', keys.enter);
    await watch.asks('Second?');
    watch.type('half an answer');
    await watch.shows('half an answer');
    watch.type(keys.ctrlC);
    await watch.shows('Your text was not sent.');
    expect(await watch.exit).toBe(130);
    expect(await unsentSince(before)).toEqual(['## First?\n\na whole answer\n\n## Second?\n\nhalf an answer\n']);
    expect((await machine.here('runs', 'stop', run)).code).toBe(0);
  });

  it.each([
    ['nonexisting-editor', 'The editor `nonexisting-editor` was not found. Check VISUAL and EDITOR.'],
    ['false', 'The editor `false` failed (exit code 1).'],
    ['true', 'The editor saved no text.'],
  ])('can still be entered when the editor is %s', async (editor, sentence) => {
    const before = await unsentFiles();
    const temporaryNames = await readdir(path.join(machine.folder, 'tmp'));
    const run = await startAsking('writer');
    machine.env.EDITOR = editor;
    const watch = machine.terminal('runs', 'watch', run);
    delete machine.env.EDITOR;
    await watch.shows('open your editor');
    watch.type(keys.enter);
    await watch.shows(sentence);
    await watch.shows('open your editor');
    watch.type('by hand', keys.enter);
    await watch.shows('noted: by hand');
    expect(await watch.exit).toBe(0);
    expect(await unsentSince(before)).toEqual([]);
    expect(await readdir(path.join(machine.folder, 'tmp'))).toEqual(temporaryNames);
  });

  it('appears at the prompt if the editor saved it and then failed', async () => {
    const editor = await machine.file('bin/failing-editor', '#!/bin/sh\nprintf "kept\\nlines" > "$1"\nexit 3\n');
    await chmod(editor, 0o755);
    const run = await startAsking('writer');
    machine.env.EDITOR = editor;
    const watch = machine.terminal('runs', 'watch', run);
    delete machine.env.EDITOR;
    await watch.shows('open your editor');
    watch.type(keys.enter);
    await watch.shows(/ {2}kept\n {2}lines\n> The editor \S+ failed \(exit code 3\)\./);
    await watch.shows('confirm');
    watch.type(keys.enter);
    await watch.shows('noted: kept');
    expect(await watch.exit).toBe(0);
  });

  it('is sent completely when several lines are pasted', async () => {
    const run = await startAsking('writer');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('What changed?');
    expect(watch.raw).toContain('\u001b[?2004h');
    watch.type('\u001b[200~first line\rsecond\rthird\r\u001b[201~');
    await watch.shows('third');
    watch.type('fourth', keys.enter);
    await watch.shows('noted: first line');
    expect(await watch.exit).toBe(0);
    const { stdout } = await machine.here('runs', 'messages', run, '--all', '--json');
    expect(stdout).toContain('first line\\nsecond\\nthird\\nfourth');
    expect(watch.raw.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(watch.raw.lastIndexOf('\u001b[?2004h'));
  });

  it('does not choose anything when it is pasted into a list', async () => {
    const run = await startAsking('payer');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('Leave it pending');
    watch.type(keys.down);
    await watch.shows('❯ Approve');
    watch.type('\u001b[200~a\u001b[B\r\r\u001b[201~', keys.down);
    await watch.shows('❯ Deny');
    expect(await statusOf(run)).toBe('waiting');
    watch.type(keys.ctrlC);
    expect(await watch.exit).toBe(130);
  });
});

describe('Ctrl-Z and fg', () => {
  async function shell(): Promise<Screen> {
    const screen = machine.screen('bash', ['--norc', '--noprofile', '-i']);
    screen.type('PS1="READY> "', keys.enter);
    await screen.shows('\nREADY>');
    return screen;
  }

  async function expectSuspended(screen: Screen): Promise<void> {
    screen.type('\u001a');
    await screen.shows('Stopped');
    await screen.shows('READY>');
    screen.type('fg', keys.enter);
  }

  it('leave a confirmation that can be answered', async () => {
    await machine.agent('doomed', '- say: hi');
    const screen = await shell();
    screen.type('aops agents delete doomed', keys.enter);
    await screen.shows('(y/N)');
    await expectSuspended(screen);
    await screen.shows('(y/N)');
    screen.type('y', keys.enter);
    await screen.shows('Deleted doomed.');
    screen.type('exit', keys.enter);
    expect(await screen.exit).toBe(0);
  });

  it('leave a request that can be answered, after another grace period', async () => {
    const run = await startAsking('payer');
    const screen = await shell();
    screen.type(`aops runs watch ${run}`, keys.enter);
    await screen.shows('Pay the invoices?');
    // While keys are still ignored.
    await expectSuspended(screen);
    await screen.shows('the keys work in a moment');
    screen.type(approve);
    await screen.asks('Leave it pending');
    expect(await statusOf(run)).toBe('waiting');
    screen.type(keys.down, keys.enter);
    await screen.shows('went on');
    screen.type('exit', keys.enter);
    expect(await screen.exit).toBe(0);
  });

  it('leave an inbox that can be used', async () => {
    const run = await startAsking('writer');
    const screen = await shell();
    screen.type('aops inbox --agent writer', keys.enter);
    await screen.asks('1 request is waiting for an answer');
    await expectSuspended(screen);
    await screen.asks('1 request is waiting for an answer');
    screen.type(keys.enter);
    await screen.asks('What changed?');
    screen.type('this', keys.enter);
    await screen.shows('Answered 1');
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    screen.type('exit', keys.enter);
    expect(await screen.exit).toBe(0);
  });
});

describe('a terminal that reports 0 columns', () => {
  const withoutSize = (command: string): Screen => machine.screen('sh', ['-c', `stty cols 0 rows 0; ${command}`]);

  it('shows prompts', async () => {
    const run = await startAsking('payer');
    const watch = withoutSize(`aops runs watch ${run}`);
    await watch.asks('Leave it pending');
    watch.type(keys.down, keys.enter);
    await watch.shows('went on');
    expect(await watch.exit).toBe(0);
    expect(watch.raw.length).toBeLessThan(50_000);
  });

  it.each([
    ['a spinner', (run: string) => `aops runs watch ${run} --no-input --on-request wait`],
    ['the progress of a backup', () => 'aops local backup zero.tar.gz'],
  ])('shows %s', async (_what, command) => {
    const run = await startAsking('payer');
    const screen = withoutSize(command(run));
    if (command(run).includes('watch')) {
      await screen.shows('waiting');
      expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    }
    expect(await screen.exit).toBe(0);
    expect(screen.raw.length).toBeLessThan(100_000);
  });
});

it('keeps an answer that is given during an outage, and sends it once when the service is back', async () => {
  const otherMachine = await Machine.create();
  const { url } = await otherMachine.hereJson<{ url: string }>('local', 'up');
  await otherMachine.agent(
    'writer',
    '- ask: { id: note, title: "The release", questions: [{ question: "What changed?" }] }\n- say: "noted: {{ answers.note }}"',
  );
  const run = await otherMachine.startRun('writer');
  const watch = otherMachine.terminal('runs', 'watch', run);
  await watch.asks('What changed?');
  expect((await otherMachine.here('local', 'down')).code).toBe(0);
  watch.type('a long answer', keys.enter);
  await watch.shows('The service is unreachable. Your answer will be sent once it is back.');
  expect((await otherMachine.here('local', 'up', '--port', new URL(url).port)).code).toBe(0);
  await watch.shows('The service is reachable again. Your answer was sent.');
  await watch.shows('noted: a long answer');
  expect(await watch.exit).toBe(0);
  expect(existsSync(path.join(otherMachine.folder, 'data/unsent'))).toBe(false);
});

it.each([
  ['an answer', 'ask: { id: note, title: "The release", questions: [{ question: "What changed?" }] }', [], 'What changed?'],
  ['the reason for a denial', 'approve: { id: note, title: "The release" }', [keys.up, keys.up, keys.enter], 'Why?'],
])('saves %s that cannot be sent when the person gives up', async (_what, step, choice, question) => {
  const otherMachine = await Machine.create();
  await otherMachine.json('local', 'up', '--ephemeral', '--exec', 'off');
  await otherMachine.agent('writer', `- ${step}`);
  const watch = otherMachine.terminal('runs', 'watch', await otherMachine.startRun('writer'));
  if (choice.length > 0) await watch.asks('The release');
  watch.type(...choice);
  await watch.asks(question);
  expect((await otherMachine.here('local', 'down')).code).toBe(0);
  watch.type('a long answer', keys.enter);
  await watch.shows('Your answer will be sent');
  watch.type(keys.ctrlC);
  await watch.shows('Your text was not sent. It is saved in');
  expect(await watch.exit).toBe(130);
  const [name = ''] = await readdir(path.join(otherMachine.folder, 'data/unsent'));
  expect(await otherMachine.read(`data/unsent/${name}`)).toBe('a long answer\n');
});
