/** Waiting for several runs. */
import { beforeAll, expect, it } from 'vitest';
import { endsError, type RunEnd } from '../../src/commands/runs/many/outcome.ts';
import { startTestService, type TestService } from '../support/service.ts';

const pay = '- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: paid';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

it('ends when all runs have ended, with the worst exit code and the runs in order', async () => {
  const runs = [await service.run('- say: one'), await service.run('- fail: "no luck"')];
  const result = await service.cli(['runs', 'wait', ...runs, '--json']);
  expect(result.code).toBe(10);
  const { data } = result.json<{ data: { id: string; status: string }[] }>();
  expect(data.map(({ id, status }) => [id, status])).toEqual([
    [runs[0], 'completed'],
    [runs[1], 'failed'],
  ]);
  expect(result.stderr).toContain('(no luck)');
});

it('ends with --for waiting when every run has a request, and with exit code 6 if one completed without', async () => {
  const waiting = [await service.waiting(pay), await service.waiting(pay)];
  expect(await service.cli(['runs', 'wait', ...waiting, '--for', 'waiting'])).toMatchObject({ code: 0 });
  const result = await service.cli(['runs', 'wait', ...waiting, await service.run('- say: one'), '--for', 'waiting']);
  expect(result.code).toBe(6);
  expect(result.stderr).toContain('1 run completed without a human request');
});

it.each([
  [5, '#1, #2, #3, #4, #5.'],
  [6, '#1, #2, #3, #4, #5 and 1 more.'],
])('names at most five of %d runs that failed', (count, names) => {
  const ends = Array.from({ length: count }, (_, index) => ({ label: `#${index + 1}`, status: 'failed' }) as RunEnd);
  expect(endsError(ends)).toMatchObject({ exit: 10, message: `${count} runs failed: ${names}` });
});

it('names one run or several that wait for a person', () => {
  const waiting = (label: string): RunEnd => ({ label, status: 'waiting' });
  expect(endsError([waiting('#1')])).toMatchObject({ exit: 12, message: '1 run is waiting for a person: #1.' });
  expect(endsError([waiting('#1'), waiting('#2')])).toMatchObject({ message: '2 runs are waiting for a person: #1, #2.' });
});

it('says which run cannot be watched, and waits for the others', async () => {
  const missing = '00000000-0000-4000-8000-000000000002';
  const run = await service.run('- say: fine');
  const result = await service.cli(['runs', 'wait', run, missing, '--json']);
  expect(result.code).toBe(3);
  expect(result.json<{ data: object[] }>().data).toMatchObject([{ id: run, status: 'completed' }]);
  expect(result.stderr).not.toContain('Stopped waiting');
  expect(result.stderr).toContain('2 runs: 1 completed, 1 unreadable\n');
  const failed = await service.run('- fail: "no luck"');
  await service.until(failed, 'failed');
  const waiting = await service.waiting(pay);
  expect(await service.cli(['runs', 'wait', waiting, failed, '--for', 'waiting'])).toMatchObject({ code: 10 });
});

it('ends with the error if the runs cannot be read at all', async () => {
  const runs = [await service.waiting(pay), await service.waiting(pay)];
  const result = await service.cli(['runs', 'wait', ...runs], { env: { AOPS_API_KEY: 'no-such-key' } });
  expect([result.code, result.stderr]).toEqual([4, expect.not.stringContaining('Stopped waiting')]);
});

it('has executed the command for every event when it ends', async () => {
  const runs = [await service.run('- say: one'), await service.run('- say: two')];
  await service.cli(['runs', 'wait', ...runs, '--exec', 'sleep 0.1; echo $AOPS_EVENT >> waited.txt']);
  const events = (await service.read('waited.txt')).trimEnd().split('\n');
  expect(events.filter((event) => event === 'run.finished')).toHaveLength(2);
});

it('counts at a terminal for how many runs it still waits', async () => {
  const runs = [await service.waiting(pay), await service.waiting(pay)];
  const terminal = service.terminal('runs', 'wait', ...runs);
  await terminal.shows('Waiting for 2 runs of 2');
  await service.cli(['runs', 'respond', runs[0] as string, '--approve']);
  await terminal.shows('Waiting for 1 run of 2');
  await service.cli(['runs', 'respond', runs[1] as string, '--approve']);
  await terminal.shows('2 runs: 2 completed');
  expect((await terminal.end).code).toBe(0);
});

it('says how to continue when Ctrl-C ends it', async () => {
  const runs = [await service.waiting(pay), await service.waiting(pay)];
  let interrupt: (() => void) | undefined;
  const result = await service.cli(['runs', 'wait', ...runs, '--exec', 'echo $AOPS_EVENT'], {
    onStart: (deliver) => {
      interrupt = deliver;
    },
    onOutput: (_, stderr) => {
      if (!stderr.includes('human_request.pending')) return;
      interrupt?.();
      interrupt = undefined;
    },
  });
  expect(result).toMatchObject({ code: 130, stdout: '' });
  expect(result.stderr).toContain(`Stopped waiting. The runs continue. Come back with: aops runs wait ${runs.join(' ')}\n`);
});
