/** Commands that do the same for several runs. */
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { answerWith, ForeignService } from '../support/foreign-service.ts';
import { startTestService, type TestService } from '../support/service.ts';

const noRun = '00000000-0000-4000-8000-000000000002';
const pay = '- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: paid';
const vendor = '- ask: { id: who, questions: [{ question: "Which vendor?", options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }';

interface List {
  data: Record<string, unknown>[];
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const waitingRuns = (...steps: string[]): Promise<string[]> => Promise.all(steps.map((each) => service.waiting(each)));

describe.concurrent('runs stop RUN RUN', () => {
  it('stops all runs, each once, and returns a list', async () => {
    const [a = '', b = ''] = await waitingRuns(pay, pay);
    const result = await service.cli(['runs', 'stop', a, b, a, '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.json<List & Record<string, unknown>>().data).toMatchObject([
      { id: a, success: true },
      { id: b, success: true },
    ]);
    for (const run of [a, b]) expect((await service.get(run)).run.status).toBe('interrupted');
  });

  it('stops the other runs if one does not exist, and exits with the worst code', async () => {
    const [a = '', b = ''] = await waitingRuns(pay, pay);
    const result = await service.cli(['runs', 'stop', a, noRun, b, '--json']);
    expect(result.code).toBe(3);
    expect(result.json<List & Record<string, unknown>>().data).toMatchObject([
      { id: a, success: true },
      { id: noRun, success: false, error: { exit: 3, status: 404 } },
      { id: b, success: true },
    ]);
    expect(result.stderr).toContain(`Run ${noRun}: `);
    expect(result.stderr).toContain('"1 of 3 runs could not be stopped."');
    expect((await service.get(b)).run.status).toBe('interrupted');
  });

  it('gives the hint of the worst failure, and not that of another one', async () => {
    const ended = await service.run('- say: done');
    await service.until(ended, 'completed');
    const [a = '', b = ''] = await waitingRuns(pay, pay);
    const worst = await service.cli(['runs', 'respond', ended, noRun, a, '--approve', '--yes']);
    expect([worst.code, worst.stderr]).toEqual([3, expect.stringMatching(/\nhint: See the runs with `aops runs list`\.\n$/)]);
    const only = await service.cli(['runs', 'respond', ended, b, ended, '--approve', '--yes']);
    expect([only.code, only.stderr]).toEqual([6, expect.not.stringContaining('See the runs')]);
  });

  it('names the runs by their IDs for a program, also on a terminal, and by their numbers for a person', async () => {
    const runs = [await service.run('- say: done'), await service.run('- say: done')];
    const numbers: string[] = [];
    for (const run of runs) numbers.push(String((await service.until(run, 'completed')).run.run_number));
    const argv = ['runs', 'respond', ...numbers, '--approve', '--yes'];
    const { stderr } = await service.cli([...argv, '--json'], { tty: true });
    for (const run of runs) expect(stderr).toContain(`Run ${run}: `);
    const shown = await service.cli(argv, { tty: true });
    for (const number of numbers) expect(shown.stderr).toContain(`Run #${number}: `);
  });

  it('is interrupted by Ctrl-C as a whole', async () => {
    const runs = await waitingRuns(pay, pay);
    const foreign = await ForeignService.start({ 'POST /v2/runs/:id/stop': () => interrupted });
    let interrupt = (): void => undefined;
    const interrupted = new Promise<object>((resolve) => {
      interrupt = () => resolve({ success: true });
    });
    let stop = (): void => undefined;
    const result = service.cli(['runs', 'stop', ...runs], {
      env: { AOPS_BASE_URL: foreign.url },
      onStart: (deliver) => {
        stop = deliver;
      },
    });
    await eventually('the first request', async () => foreign.requests.some(({ method }) => method === 'POST'));
    stop();
    const { code, stderr } = await result;
    interrupt();
    expect([code, stderr]).toEqual([130, expect.not.stringContaining('could not be stopped')]);
  });

  it('returns the same object as before for one run', async () => {
    const run = await service.waiting(pay);
    expect((await service.cli(['runs', 'stop', run, '--json'])).json()).toMatchObject({ id: run, success: true });
  });

  it('sends the same keys when it is repeated with the same key', async () => {
    const runs = await waitingRuns(pay, pay);
    const argv = ['runs', 'stop', ...runs, '--idempotency-key', 'stop-both', '--json'];
    const first = await service.cli(argv);
    expect(first.code).toBe(0);
    // A repeated key replays the response; a new one would say that the runs have ended already.
    expect((await service.cli(argv)).stdout).toBe(first.stdout);
  });
});

describe.concurrent('runs respond RUN RUN', () => {
  it('sends the same answer to all runs after a preview', async () => {
    const [a = '', b = ''] = await waitingRuns(pay, pay);
    const result = await service.cli(['runs', 'respond', a, b, '--approve', '--yes', '--json']);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('2 requests:\n');
    expect(result.stderr).toContain(`  ${a}  Pay 3 invoices?`);
    expect(result.json<List & Record<string, unknown>>().data).toMatchObject([{ run_id: a, response: 'approved' }, { run_id: b }]);
    for (const run of [a, b]) await service.until(run, 'completed');
  });

  it('sends nothing without a confirmation', async () => {
    const runs = await waitingRuns(pay, pay);
    const result = await service.cli(['runs', 'respond', ...runs, '--approve']);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain('Approve all 2 requests?');
    // What is to be confirmed is shown in any case.
    expect((await service.cli(['runs', 'respond', ...runs, '--approve', '--quiet'])).stderr).toContain('2 requests:\n');
    const ended = await service.run('- say: done');
    await service.until(ended, 'completed');
    expect((await service.cli(['runs', 'respond', ended, runs[0] as string, '--deny'])).stderr).toContain('Deny this request?');
    for (const run of runs) expect((await service.get(run)).request).not.toBeNull();
  });

  it('sends nothing if the runs ask different questions', async () => {
    const runs = await waitingRuns(pay, vendor);
    const result = await service.cli(['runs', 'respond', ...runs, '--approve', '--yes']);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain('The runs ask different questions');
    for (const run of runs) expect((await service.get(run)).request).not.toBeNull();
  });

  it('answers the same question in several runs, with options matched as usual', async () => {
    const runs = await waitingRuns(vendor, vendor);
    const question = await service.cli(['runs', 'respond', ...runs, '--answer', 'acme inc']);
    expect(question.stderr).toContain('Send this answer to all 2 requests?');
    const plan = await service.cli(['runs', 'respond', ...runs, '--answer', 'acme inc', '--dry-run']);
    expect([plan.code, plan.json()]).toMatchObject([0, { method: 'POST' }]);
    const result = await service.cli(['runs', 'respond', ...runs, '--answer', 'acme inc', '--yes', '--json']);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('Answer to "Which vendor?": Acme Inc');
    for (const run of runs) await service.until(run, 'completed');
  });

  it('sends the same keys when it is repeated with the same key', async () => {
    const ended = await service.run('- say: done');
    await service.until(ended, 'completed');
    const ids = ['11111111-0000-4000-8000-000000000001', '11111111-0000-4000-8000-000000000002'];
    const run = (id: string) => ({ ...runFields, id });
    const foreign = await ForeignService.start({
      'GET /v2/runs/:id': (_, id) => ({ run: run(id as string), pending_human_request: { ...request, id: `request-${id}` } }),
      'POST /v2/runs/:id/human-requests/:request/respond': () =>
        answerWith(409, { error: 'request_already_answered', message: 'Too late.' }),
    });
    const { run: runFields } = await service.get(ended);
    const request = { title: 'Pay?', description: null, type: 'approval', created_at: runFields.created_at, run_id: ids[0] };
    const argv = ['runs', 'respond', ...ids, '--approve', '--yes', '--idempotency-key', 'both'];
    const keys: unknown[][] = [];
    for (const _ of ['first', 'second']) {
      foreign.requests.length = 0;
      const { stderr, stdout } = await service.cli([...argv, '--json'], { env: { AOPS_BASE_URL: foreign.url } });
      expect(stderr).toContain('Too late.');
      expect((JSON.parse(stdout) as List).data).toMatchObject(ids.map((id) => ({ id: `request-${id}`, run_id: id, response: null })));
      const sent = foreign.requests.filter(({ method }) => method === 'POST');
      keys.push(sent.map(({ path, headers }) => `${path} ${headers['idempotency-key']}`).sort());
    }
    expect(keys[0]).toHaveLength(2);
    expect(keys[1]).toEqual(keys[0]);
  });

  it('answers the other runs if one does not wait, and exits with its code', async () => {
    const [a = '', b = ''] = await waitingRuns(pay, pay);
    await service.cli(['runs', 'stop', a]);
    const result = await service.cli(['runs', 'respond', a, b, '--approve', '--yes', '--json']);
    expect(result.code).toBe(6);
    expect(result.json<List & Record<string, unknown>>().data).toMatchObject([
      { run_id: a, id: null, response: null, error: { code: 'run_not_waiting' } },
      { run_id: b, response: 'approved' },
    ]);
    await service.until(b, 'completed');
    const [c = '', d = ''] = await waitingRuns(pay, pay);
    const { request } = await service.get(c);
    const ids = await service.cli(['runs', 'respond', a, b, c, '--approve', '--yes', '-o', 'id']);
    expect(ids).toMatchObject({ code: 6, stdout: `${request?.id}\n` });
    // The outcome is reported even if the result cannot be printed as requested.
    const unknown = await service.cli(['runs', 'respond', a, b, d, '--approve', '--yes', '--fields', 'title.x']);
    expect([unknown.code, unknown.stderr]).toEqual([
      6,
      expect.stringMatching(/^The result has no field "title\.x"\.\nerror: 2 of 3 runs could not be answered\.$/m),
    ]);
    expect((await service.get(d)).request).toBeNull();
  });

  it('accepts the ID of the request after its run, as before, or as --request', async () => {
    const run = await service.waiting(`${pay}\n- approve: { id: again, title: "Really?" }`);
    const { request } = await service.get(run);
    const id = request?.id as string;
    expect((await service.cli(['runs', 'respond', run, id, '--approve', '--json'])).json()).toMatchObject({ id, run_id: run });
    // The first request is not pending any more, but it is still a request of this run.
    const again = await service.cli(['runs', 'respond', run, id, '--approve']);
    expect(again).toMatchObject({ code: 6, stdout: '' });
    const { request: second } = await service.until(run, 'waiting');
    expect((await service.cli(['runs', 'respond', run, '--request', second?.id as string, '--approve', '--json'])).json()).toMatchObject({
      id: second?.id,
    });
    const refusal = await service.cli(['runs', 'respond', run, await service.waiting(pay), '--request', id, '--approve', '--yes']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    // With --request, a second ID is always that of a run.
    const other = await service.waiting(pay);
    const { request: pending } = await service.get(other);
    const both = await service.cli(['runs', 'respond', other, pending?.id as string, '--request', id, '--approve', '--yes']);
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect((await service.get(other)).request?.id).toBe(pending?.id);
  });
});
