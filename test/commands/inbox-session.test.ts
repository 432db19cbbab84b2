/** A person who answers requests in the inbox, one after the other. test/e2e/inbox.test.ts does the same on a pseudo-terminal. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CliTerminal } from '../support/cli-terminal.ts';
import { keys } from '../support/screen.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const waitingFor = (title: string): Promise<string> => service.waiting(`- approve: { id: pay, title: ${JSON.stringify(title)} }`);
const leaveIt = [keys.up, keys.enter];

describe('a list of requests', () => {
  it('counts what was answered and what is still pending', async () => {
    await waitingFor('Pay A?');
    await waitingFor('Pay B?');
    const inbox = service.terminal('inbox');
    await inbox.asks('2 requests are waiting for an answer');
    inbox.type(keys.enter);
    await inbox.shows('1 of 2');
    await inbox.asks('Pay A?');
    inbox.type(keys.down, keys.enter);
    await inbox.asks('1 request is waiting for an answer');
    inbox.type(keys.down, keys.enter);
    await inbox.shows('Answered 1; 1 still pending.');
    const { code, stderr } = await inbox.end;
    expect(code).toBe(0);
    expect(stderr).not.toContain('no longer pending');
    expect(stderr).not.toContain('undefined');
  });

  it('says when nothing is left, and whether anything was answered here', async () => {
    const run = await waitingFor('Pay A?');
    const inbox = service.terminal('inbox');
    await inbox.asks('1 request is waiting for an answer');
    await service.cli(['runs', 'respond', run, '--approve']);
    inbox.type(keys.enter);
    await inbox.shows('The request is no longer pending');
    await inbox.shows('Nothing is waiting for an answer.');
    expect((await inbox.end).stderr).not.toContain('Answered');

    await waitingFor('Pay B?');
    const second = service.terminal('inbox');
    await second.asks('1 request is waiting for an answer');
    second.type(keys.enter);
    await second.asks('Pay B?');
    second.type(keys.down, keys.enter);
    await second.shows('Answered 1; nothing else is pending.');
    expect((await second.end).code).toBe(0);
  });

  it('numbers requests after those that were answered or left', async () => {
    for (const title of ['Pay A?', 'Pay\nB?', 'Pay C?']) await waitingFor(title);
    const inbox = service.terminal('inbox');
    await inbox.asks('3 requests are waiting for an answer');
    inbox.type(keys.enter);
    await inbox.asks('Pay A?');
    inbox.type(keys.down, keys.enter);
    await inbox.asks('2 requests are waiting for an answer');
    inbox.type(keys.enter);
    await inbox.shows('2 of 3');
    await inbox.asks('Leave it pending');
    inbox.type(...leaveIt);
    await inbox.shows(/Left pending: Pay\S*B\?/);
    await inbox.asks('2 requests are waiting for an answer');
    // The one that was left is not the suggestion any more.
    inbox.type(keys.enter);
    await inbox.shows('3 of 3');
    await inbox.asks('Pay C?');
    inbox.type(keys.ctrlC);
    expect((await inbox.end).code).toBe(130);
  });

  it('numbers a request that was left and is opened again by its position among the others', async () => {
    for (const title of ['Pay A?', 'Pay B?']) await waitingFor(title);
    const inbox = service.terminal('inbox');
    await inbox.asks('2 requests are waiting for an answer');
    inbox.type(keys.enter);
    await inbox.asks('Pay A?');
    inbox.type(...leaveIt);
    await inbox.asks('2 requests are waiting for an answer');
    inbox.type(keys.up, keys.enter);
    await inbox.shows('1 of 2');
    await inbox.asks('Pay A?');
    inbox.type(keys.ctrlC);
    expect((await inbox.end).code).toBe(130);
  });

  it('shows what the run did last above its request', async () => {
    const steps = Array.from({ length: 20 }, (_, index) => `- say: "Step ${index + 1}."`);
    await service.waiting([...steps, '- approve: { id: pay, title: "Pay A?" }'].join('\n'));
    const inbox = service.terminal('inbox');
    await inbox.asks('1 request is waiting for an answer');
    inbox.type(keys.enter);
    await inbox.asks('Pay A?');
    inbox.type(keys.ctrlC);
    const { stderr } = await inbox.end;
    expect(stderr.match(/Step \d+\./g)).toEqual(Array.from({ length: 8 }, (_, index) => `Step ${index + 13}.`));
  });

  it('ends with an error if the answer is refused', async () => {
    const run = await waitingFor('Pay A?');
    const name = path.join(service.folder, 'token');
    await service.cli(['local', 'token', 'create', 'reader', '--scope', 'runs:read', '--to', name, '--yes']);
    const env = { ...service.env, AOPS_API_KEY: (await readFile(name, 'utf8')).trim() };
    const inbox = new CliTerminal(['inbox'], { cwd: service.folder, env });
    await inbox.asks('1 request is waiting for an answer');
    inbox.type(keys.enter);
    await inbox.asks('Pay A?');
    inbox.type(keys.down, keys.enter);
    const { code, stderr } = await inbox.end;
    expect([code, stderr]).toEqual([5, expect.stringContaining('error: ')]);
    expect((await service.get(run)).run.status).toBe('waiting');
  });

  it('is printed instead of offered for a program, also on a terminal', async () => {
    await waitingFor('Pay A?');
    const { code, stdout } = await service.terminal('inbox', '-o', 'json').end;
    expect({ code, data: JSON.parse(stdout).data }).toMatchObject({ code: 0, data: [{ title: 'Pay A?' }] });
    const piped = new CliTerminal(['inbox'], { cwd: service.folder, env: service.env, tty: 'stderr' });
    expect((await piped.end).stdout).toContain('\tPay A?\t');
  });
});

describe('--watch', () => {
  it('asks about each request as it arrives, and sums up at the end', async () => {
    const inbox = service.terminal('inbox', '--watch');
    await inbox.shows('Waiting for requests  0 answered');
    await waitingFor('Pay A?');
    await inbox.asks('Pay A?');
    inbox.type(keys.down, keys.enter);
    await inbox.shows('Waiting for requests  1 answered');
    await waitingFor('Pay B?');
    await inbox.asks('Pay B?');
    inbox.type(...leaveIt);
    await inbox.shows('Left pending: Pay B?');
    await waitingFor('Pay C?');
    await inbox.asks('Pay C?');
    inbox.type(keys.ctrlC);
    await inbox.shows('Answered 1; 2 still pending. Answer them with: aops inbox\n');
    expect(await inbox.end).toMatchObject({ code: 130, stdout: '' });
  });

  it('says so if nothing is pending at the end', async () => {
    await waitingFor('Pay A?');
    const inbox = service.terminal('inbox', '--watch');
    await inbox.asks('Pay A?');
    inbox.type(keys.down, keys.enter);
    await inbox.shows('Waiting for requests  1 answered');
    inbox.interrupt();
    await inbox.shows('Answered 1; nothing else is pending.');
    expect((await inbox.end).code).toBe(130);
  });

  it('prints events for a program that reads them, without asking', async () => {
    await waitingFor('Pay A?');
    const inbox = new CliTerminal(['inbox', '--watch'], { cwd: service.folder, env: service.env, tty: 'stderr' });
    expect(await inbox.prints('\n')).toMatch(/^\?\t.*\tPay A\?\t/);
    inbox.interrupt();
    expect((await inbox.end).stderr).not.toContain('Pay A?');
  });

  it('prints events for a program that continues, also on a terminal', async () => {
    const run = await waitingFor('Pay A?');
    const first = service.terminal('inbox', '--watch', '-o', 'ndjson');
    const event = JSON.parse(await first.prints('\n'));
    first.interrupt();
    await first.end;
    const next = service.terminal('inbox', '--watch', '--resume', event.resume);
    await service.cli(['runs', 'respond', run, '--approve']);
    await next.prints('✓');
    next.interrupt();
    expect((await next.end).stderr).not.toContain('Waiting for requests');
  });
});
