/** `runs respond` for a person at a terminal: when it asks, and that nothing is decided by mistake. */
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keys } from '../support/screen.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const approval = '- approve: { id: pay, title: "Pay?", on_deny: continue }';
const statusOf = async (run: string): Promise<string> => (await service.get(run)).run.status;
/** What a command at a terminal that asks nothing ends with. */
const refusalOf = async (...argv: string[]) => {
  const { code, stdout, stderr } = await service.terminal('runs', 'respond', ...argv).end;
  return { code, stdout, stderr };
};

describe('one run', () => {
  it('is asked about without an answer in flags', async () => {
    const run = await service.waiting(approval);
    const terminal = service.terminal('runs', 'respond', run);
    await terminal.asks('Pay?');
    terminal.type(keys.down, keys.enter);
    await terminal.shows('✓ Pay? Approve');
    expect(await terminal.end).toMatchObject({ code: 0, stdout: '' });
    expect((await service.until(run, 'completed')).run.status).toBe('completed');
  });

  it('shows what it did before its request, and what to do next', async () => {
    const run = await service.waiting(`- say: The invoice is from Example Inc.\n${approval}`);
    const number = (await service.get(run)).run.run_number;
    const left = service.terminal('runs', 'respond', run);
    await left.shows('The invoice is from Example Inc.');
    await left.asks('Pay?');
    left.type(keys.up, keys.enter);
    await left.shows(`Left pending: Pay?\nAnswer it later with: aops runs respond ${number}\n`);
    expect((await left.end).code).toBe(0);
    const answered = service.terminal('runs', 'respond', String(number));
    await answered.asks('Pay?');
    answered.type(keys.down, keys.enter);
    await answered.shows(`Answered: Pay?\nWatch the run with: aops runs watch ${number}\n`);
    expect((await answered.end).code).toBe(0);
  });

  it('checks an answer to the request that is named like any other', async () => {
    const run = await service.waiting('- ask: { id: a, questions: [{ question: "Which?", options: [{ label: Large }] }] }');
    const { request } = await service.get(run);
    const args = [run, '--request', request?.id ?? '', '--answer'];
    expect((await refusalOf(...args, 'Huge')).code).toBe(2);
    expect(await refusalOf(...args, 'large')).toMatchObject({ code: 0, stdout: expect.stringContaining('Large') });
  });

  it('can be picked from those that wait', async () => {
    const ended = await service.run('- say: done', 'ended');
    await service.until(ended, 'completed');
    const run = await service.waiting(approval);
    const terminal = service.terminal('runs', 'respond');
    await terminal.asks('Which waiting run?');
    terminal.type(keys.ctrlC);
    const { stderr } = await terminal.end;
    expect(stderr).toContain(`#${(await service.get(run)).run.run_number} `);
    expect(stderr).not.toContain(`#${(await service.get(ended)).run.run_number} `);
  });

  it('can be picked from those that have not ended, to stop it', async () => {
    const ended = await service.run('- say: done');
    await service.until(ended, 'completed');
    const terminal = service.terminal('runs', 'stop');
    await terminal.asks('Which active run?');
    terminal.type(keys.ctrlC);
    expect((await terminal.end).stderr).not.toContain(`#${(await service.get(ended)).run.run_number} `);
  });

  it.each([
    ['--approve', 'approved'],
    ['--deny', 'denied'],
  ])('is not asked about with %s', async (flag, response) => {
    const run = await service.waiting(approval);
    const { code, stdout, stderr } = await service.terminal('runs', 'respond', run, flag).end;
    expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout: expect.stringContaining(response) });
  });

  it('is not asked about for a program', async () => {
    const run = await service.waiting(approval);
    expect(await refusalOf(run, '-o', 'json')).toMatchObject({ code: 2, stderr: expect.stringContaining('No answer was specified.') });
    expect(await refusalOf(run, '--dry-run')).toMatchObject({ code: 2, stderr: expect.stringContaining('No answer was specified.') });
    expect(await statusOf(run)).toBe('waiting');
  });

  it('gets no decision from a reason alone', async () => {
    const run = await service.waiting(approval);
    expect(await refusalOf(run, '--reason', 'Too expensive')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--reason requires --approve or --deny.'),
    });
    expect(await statusOf(run)).toBe('waiting');
  });

  it('that waits for nothing is reported, and so is one that waits for another request', async () => {
    const ended = await service.run('- say: done');
    await service.until(ended, 'completed');
    expect(await refusalOf(ended)).toMatchObject({ code: 6, stderr: expect.stringContaining('not waiting') });
    const run = await service.waiting(approval);
    const other = '00000000-0000-4000-8000-000000000001';
    expect(await refusalOf(run, '--request', other)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('The run is waiting for the answer to another request.'),
    });
  });
});

describe('several runs', () => {
  it('are not asked about one after the other', async () => {
    const runs = [await service.waiting(approval), await service.waiting(approval)];
    expect(await refusalOf(...runs)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('To be prompted for one request after another, use `aops inbox`.'),
    });
    const agent = await service.agent(approval);
    expect(await refusalOf('--agent', agent)).toMatchObject({ code: 2, stderr: expect.stringContaining('No answer was specified.') });
    const withRequest = await refusalOf('--agent', agent, '--request', '00000000-0000-4000-8000-000000000001', '--approve', '--yes');
    expect(withRequest).toMatchObject({ code: 2, stderr: expect.stringContaining('Filters cannot be combined with runs or --request.') });
  });

  it('are answered only after a confirmation, which Enter alone does not give', async () => {
    const agent = await service.agent(approval);
    const runs = [await service.start(agent), await service.start(agent)];
    for (const run of runs) await service.until(run, 'waiting');
    const argv = ['runs', 'respond', '--agent', agent, '--approve', '--reason', 'Fine'];
    for (const answer of [keys.enter, 'n\r']) {
      const terminal = service.terminal(...argv);
      await terminal.shows('2 requests:');
      await terminal.shows('Reason: Fine');
      await terminal.shows('Approve all 2 requests?');
      terminal.type(answer);
      await terminal.shows('Nothing was changed, because you did not confirm.');
      expect((await terminal.end).code).toBe(2);
    }
    expect(await Promise.all(runs.map(statusOf))).toEqual(['waiting', 'waiting']);
    const terminal = service.terminal(...argv);
    await terminal.shows('Approve all 2 requests?');
    terminal.type('y\r');
    expect((await terminal.end).code).toBe(0);
    for (const run of runs) await service.until(run, 'completed');
  });

  it('get no answer to requests that nobody has seen', async () => {
    const agent = await service.agent(`${approval}\n- approve: { id: again, title: "Really pay?" }`);
    const runs = [await service.start(agent), await service.start(agent)];
    for (const run of runs) await service.until(run, 'waiting');
    const terminal = service.terminal('runs', 'respond', ...runs, '--approve', '--json');
    await terminal.shows('Approve all 2 requests?');
    const [first] = runs as [string];
    await service.cli(['runs', 'respond', first, '--approve']);
    await eventually('the next request', async () => (await service.get(first)).request?.title === 'Really pay?');
    terminal.type('y\r');
    const { code, stdout } = await terminal.end;
    const { data } = JSON.parse(stdout);
    expect([code, data]).toMatchObject([
      6,
      [{ run_id: first, title: 'Pay?', error: { code: 'request_changed' } }, { response: 'approved' }],
    ]);
    expect((await service.get(first)).request?.title).toBe('Really pay?');
  });

  it('are not listed before they are answered with --yes --quiet', async () => {
    const agent = await service.agent(approval);
    const ended = await service.start(agent);
    await service.until(ended, 'waiting');
    await service.cli(['runs', 'respond', ended, '--deny']);
    await service.until(ended, 'completed');
    const run = await service.start(agent);
    await service.until(run, 'waiting');
    const result = await service.cli(['runs', 'respond', ended, run, '--approve', '--yes', '--quiet', '--json']);
    expect(result.stderr).not.toContain('request');
    const rows = result.json<{ data: object[] }>().data;
    expect(rows).toMatchObject([
      { run_id: ended, id: null, title: '', description: null, response: null },
      { run_id: run, response: 'approved' },
    ]);
  });
});
