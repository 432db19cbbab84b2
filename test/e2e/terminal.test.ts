/** The whole scenario from a user's view: the real binary on a pseudo-terminal, with answers typed at its prompts. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Machine, project } from '../support/machine.ts';
import { keys, type Screen } from '../support/screen.ts';
import { afterTest } from '../support/temporary.ts';

const example = path.join(project, 'examples/invoice-check');

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
});

/** Whether the cursor is visible again, and no colour remains. */
function expectTidy({ raw }: Screen): void {
  expect(raw.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(raw.lastIndexOf('\u001b[?25l'));
}

describe('the main scenario', () => {
  it('starts a service, an agent and a run, and answers it', async () => {
    const upScreen = machine.terminal('local', 'up', '--ephemeral', '--exec', 'host');
    await upScreen.shows('The local service is running.');
    await upScreen.shows(/URL: +http:\/\/127\.0\.0\.1:\d+/);
    await upScreen.shows(/Data: +\S+/);
    await upScreen.shows('Profile:');
    expect(await upScreen.exit).toBe(0);

    const create = machine.terminal('agents', 'create', 'invoice-check', '--procedure', path.join(example, 'procedure.yaml'));
    await create.shows(/Name: +invoice-check/);
    expect(await create.exit).toBe(0);

    const upload = path.join(example, 'invoices.csv');
    const run = machine.terminal('runs', 'start', '--agent', 'invoice-check', '--upload', upload, '--watch', '--pull', 'out');
    await run.shows('Good morning! I am invoice-check.');
    await run.shows('6 invoices, 4065.75 EUR in all');
    await run.shows('vendors.search');
    await run.shows('Which vendor is "ACME"?');
    await run.shows('Acme GmbH');
    await run.asks('Leave it pending');
    run.type(keys.down, keys.down, keys.enter);
    await run.shows('Which cost centres share the furniture?');
    await run.asks('Operations');
    run.type(keys.space, keys.down, keys.down, keys.space, keys.enter);
    await run.asks('Is there a note for the books?');
    run.type('Chairs', keys.enter);
    await run.shows('Pay 6 invoices, 4065.75 EUR in all?');
    await run.asks('Approve');
    run.type(keys.down, keys.enter);
    await run.shows('bank.transfer');
    await run.shows('Paid. Enjoy the chairs!');
    await run.shows(/completed after \d/);
    await run.shows(/Pulled \d files to out/);
    expect(await run.exit).toBe(0);
    expectTidy(run);
    const report = await machine.read('out/report.md');
    expect(report).toContain('"ACME" is Acme Inc.');
    expect(report).toContain('The furniture goes to: Product, Operations.');
    expect(report).toContain('Note: Chairs');
    expect(report).toContain('Paid.');
  });
});

describe('a prompt', () => {
  const pay = '- say: started\n- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: "went on"';
  beforeAll(() => machine.agent('pay', pay));

  it('disappears when another client answers', async () => {
    const run = await machine.startRun('pay');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.shows('Pay 3 invoices?');
    await watch.shows('Leave it pending');
    expect((await machine.aops('runs', 'respond', run, '--approve')).code).toBe(0);
    await watch.shows('Somebody else answered.');
    await watch.shows('went on');
    await watch.shows(/completed after/);
    expect(await watch.exit).toBe(0);
    expectTidy(watch);
  });

  it('disappears when the run is stopped', async () => {
    const run = await machine.startRun('pay');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.shows('Leave it pending');
    expect((await machine.aops('runs', 'stop', run)).code).toBe(0);
    await watch.shows('No longer pending: Pay 3 invoices?');
    await watch.shows(/interrupted/);
    expect(await watch.exit).toBe(11);
    expectTidy(watch);
  });

  it('can be left with Ctrl-C, which shows how to come back', async () => {
    const run = await machine.startRun('pay');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.shows('Leave it pending');
    watch.type(keys.ctrlC);
    await watch.shows(`Detached. The run is waiting for an answer. Come back with: aops runs watch ${run}`);
    expect(await watch.exit).toBe(130);
    expectTidy(watch);
    expect((await machine.getRun(run)).pending_human_request?.title).toBe('Pay 3 invoices?');

    const secondScreen = machine.terminal('runs', 'watch', run);
    await secondScreen.shows('started');
    await secondScreen.asks('Leave it pending');
    secondScreen.type(keys.up, keys.up, keys.enter);
    await secondScreen.asks('Why?');
    secondScreen.type('too much', keys.enter);
    await secondScreen.shows('was denied: too much');
    expect(await secondScreen.exit).toBe(10);
  });

  it('shows the title of the questions', async () => {
    const questions = '[{ question: "A note?" }, { question: "Due when?", options: [{ label: Today }] }]';
    await machine.agent('details', `- ask: { id: d, title: "Invoice 411: two details", questions: ${questions} }`);
    const watch = machine.terminal('runs', 'watch', await machine.startRun('details'));
    await watch.asks(/Invoice 411: two details\s+\? A note\?/);
    watch.type('none', keys.enter);
    await watch.asks('Due when?');
    watch.type(keys.down, keys.enter);
    await watch.shows(/completed after/);
    expect(await watch.exit).toBe(0);
    expectTidy(watch);
  });

  it('reports it when the answer ends the run', async () => {
    const watch = machine.terminal('runs', 'watch', await machine.startRun('pay'));
    await watch.asks('Leave it pending');
    watch.type(keys.down, keys.down, keys.enter);
    await watch.shows(/failed after/);
    expect(await watch.exit).toBe(10);
    expect(watch.text).not.toContain('no longer asks');
  });

  it('can be left pending', async () => {
    const run = await machine.startRun('pay');
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('Leave it pending');
    watch.type(keys.up, keys.enter);
    await watch.shows('Left pending: Pay 3 invoices?');
    await watch.shows(`aops runs respond ${run} --approve`);
    expect(await watch.exit).toBe(12);
    expect(watch.text).not.toContain('error:');
    expectTidy(watch);
  });

  it.each([
    ['a list', '{ question: "Which?", options: [{ label: One }, { label: Two }] }'],
    ['a list of several', '{ question: "Which?", options: [{ label: One }, { label: Two }], multi_select: true }'],
    ['a text', '{ question: "Which?" }'],
  ])('can be left pending with Escape at %s', async (kind, question) => {
    await machine.agent(kind, `- ask: { id: q, title: "The one", questions: [${question}] }`);
    const run = await machine.startRun(kind);
    const watch = machine.terminal('runs', 'watch', run);
    await watch.asks('Which?');
    await watch.shows('esc leave it pending');
    watch.type('\u001b');
    await watch.shows('Left pending: The one');
    expect(await watch.exit).toBe(12);
    expect((await machine.getRun(run)).pending_human_request?.title).toBe('The one');
  });

  it('opens the editor for a long answer', async () => {
    const editor = await machine.file('bin/fake-editor', '#!/bin/sh\nprintf "line one\\nline two\\n" > "$1"\n');
    await chmod(editor, 0o755);
    await machine.agent('note', '- ask: { id: note, questions: [ { question: "Any notes?" } ] }\n- say: "noted: {{ answers.note }}"');
    const run = await machine.startRun('note');
    machine.env.EDITOR = editor;
    const watch = machine.terminal('runs', 'watch', run);
    delete machine.env.EDITOR;
    await watch.shows('Any notes?');
    await watch.shows('open your editor');
    watch.type(keys.enter);
    await watch.shows(/✓ Any notes\?\n {2}line one\n {2}line two/);
    await watch.shows('noted: line one');
    await watch.shows('line two');
    expect(await watch.exit).toBe(0);
    expectTidy(watch);
    expect((await watch.rows()).filter((row) => row.includes('Any notes?'))).toEqual(['✓ Any notes?']);
  });

  it('requires a yes before something is deleted', async () => {
    await machine.agent('doomed', '- say: hi');
    const terminal = machine.terminal('agents', 'delete', 'doomed');
    await terminal.shows('(y/N)');
    terminal.type(keys.enter);
    await terminal.shows('Nothing was changed, because you did not confirm.');
    expect(await terminal.exit).toBe(2);
    const deleteScreen = machine.terminal('agents', 'delete', 'doomed');
    await deleteScreen.shows('(y/N)');
    deleteScreen.type('y', keys.enter);
    await deleteScreen.shows('Deleted doomed.');
    expect(await deleteScreen.exit).toBe(0);
  });
});

describe('a list longer than the terminal', () => {
  it('is shown in the pager, unlike a short one', async () => {
    const pager = await machine.file('bin/fake-pager', '#!/bin/sh\necho "paged: $(wc -l) lines"\n');
    await chmod(pager, 0o755);
    machine.env.PAGER = pager;
    const commandsScreen = machine.terminal('commands');
    const short = machine.terminal('profiles', 'list');
    delete machine.env.PAGER;
    await commandsScreen.shows(/paged: +\d+ lines/);
    expect(await commandsScreen.exit).toBe(0);
    await short.shows('CURRENT');
    expect(await short.exit).toBe(0);
    expect(short.text).not.toContain('paged');
  });
});

describe('Ctrl-C while a run works', () => {
  it('detaches', async () => {
    await machine.agent('slow', '- say: started\n- sleep: 1h');
    const watch = machine.terminal('runs', 'start', '--agent', 'slow', '--watch');
    await watch.shows('started');
    await watch.shows('running');
    watch.type(keys.ctrlC);
    await watch.shows(/Detached\. The run continues\. Come back with: aops runs watch \d+\n/);
    expect(await watch.exit).toBe(130);
    expectTidy(watch);
    expect((await machine.getRun('@latest')).status).toBe('running');
  });
});

describe('aops auth login', () => {
  it('asks for consent before it asks for a client secret that would be sent to another origin', async () => {
    const server = createServer((request, response) => {
      const issuer = `http://${request.headers.host}`;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ issuer, token_endpoint: 'http://127.0.0.1:9/token', response_types_supported: [] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterTest(() => new Promise((resolve) => server.close(resolve)));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const login = machine.terminal('auth', 'login', '--base-url', url, '--team', randomUUID(), '--client-id', 'nightly');
    await login.shows(/Do\s+you\s+trust\s+this\s+address\?/);
    expect(login.text).toMatch(/127\.0\.0\.1:9\/token/);
    login.type('n', keys.enter);
    await login.shows('Nothing was sent');
    expect(await login.exit).toBe(2);
    expect(login.text).not.toContain('Client secret');
  });

  it('asks for missing values, and does not show the key', async () => {
    const { url, team_id, data_dir } = await machine.json<{ url: string; team_id: string; data_dir: string }>('local', 'status');
    const token = (await readFile(path.join(data_dir, 'token'), 'utf8')).trim();
    const login = machine.terminal('auth', 'login', '--profile', 'typed', '--base-url', url);
    await login.shows('API key');
    login.type(token, keys.enter);
    await login.shows(`Signed in to ${url} as profile "typed"`);
    expect(await login.exit).toBe(0);
    expect(login.text).not.toContain(token);

    const loginScreen = machine.terminal('auth', 'login', '--profile', 'never', '--base-url', url, '--team', team_id);
    await loginScreen.shows('API key');
    loginScreen.type(keys.ctrlC);
    expect(await loginScreen.exit).toBe(130);
    expect((await machine.aops('profiles', 'list', '-o', 'id')).stdout.trimEnd().split('\n').sort()).toEqual(['local', 'typed']);
  });
});

describe('aops local down', () => {
  it('ends the service and removes its temporary data', async () => {
    const status = await machine.json<{ data_dir: string }>('local', 'status');
    const downScreen = machine.terminal('local', 'down');
    await downScreen.shows('Stopped the local service');
    expect(await downScreen.exit).toBe(0);
    expect(existsSync(status.data_dir)).toBe(false);
  });
});
