import { beforeAll, describe, expect, it } from 'vitest';
import type { Case, Queue } from '../../src/interface/types.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

async function queue(name: string): Promise<string> {
  return (await service.api<{ queue: Queue }>('POST', `/teams/${service.service.teamId}/queues`, { name })).queue.id;
}

it('creating a case trigger for an agent without a live revision warns that it takes no cases', async () => {
  await service.cli(['agents', 'create', 'bare']);
  await service.cli(['queues', 'create', 'for-bare']);
  const createResult = await service.cli(['agents', 'triggers', 'create', 'bare', '--queue', 'for-bare', '-o', 'id']);
  expect(createResult.code).toBe(0);
  expect(createResult.stderr).toContain('The agent has no live revision, so it takes no cases until you promote one');
  const repeatResult = await service.cli(['agents', 'triggers', 'create', 'bare', '--queue', 'for-bare']);
  expect(repeatResult).toMatchObject({ code: 6, stdout: '' });
  expect(repeatResult.stderr).toContain('hint: Move it with `aops agents triggers update AGENT --queue QUEUE`.');
});

describe('agents triggers', () => {
  it('let an agent process a queue, from the command line to the result', async () => {
    await queue('invoices');
    await service.agent(
      '- if: case.data.amount > 100\n  approve: { id: pay, title: "Pay {{ case.data.amount }}?" }\n- complete_case: "Paid {{ case.data.amount }}"',
      'payer',
    );
    const createResult = await service.cli(['agents', 'triggers', 'create', 'payer', '--queue', 'invoices', '--json']);
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    expect(createResult.json()).toMatchObject({ case_queue_name: 'invoices', enabled: true, concurrency: null });
    const add = async (amount: number) =>
      (
        await service.cli(['cases', 'create', 'invoices', `Invoice over ${amount}`, '--data', `{"amount": ${amount}}`, '-o', 'id'])
      ).stdout.trim();
    const smallBatch = await add(50);
    const largeText = await add(500);
    const status = async (id: string) => (await service.api<{ case: Case }>('GET', `/cases/${id}`)).case.display_status;
    await eventually('the small one is done', async () => (await status(smallBatch)) === 'completed');
    await eventually('the large one asks', async () => (await status(largeText)) === 'needs_input');
    const runs = await service.cli(['cases', 'runs', largeText, '--fields', 'status,agent_name,pending_human_request_title']);
    expect(runs).toMatchObject({ code: 0, stdout: 'waiting\tpayer\tPay 500?\n', stderr: '' });
    const run = (await service.cli(['cases', 'runs', largeText, '-o', 'id'])).stdout.trim();
    expect((await service.cli(['cases', 'messages', smallBatch, '--fields', 'type'])).stdout).toBe('message\ntool_call\ntool_result\n');
    expect((await service.cli(['runs', 'list', '--queue', 'invoices', '--fields', 'case_title', '--sort-order', 'asc'])).stdout).toBe(
      'Invoice over 50\nInvoice over 500\n',
    );
    expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);
    await eventually('the large one is done', async () => (await status(largeText)) === 'completed');
    const result = await service.cli(['cases', 'get', largeText, '--color', 'never'], { tty: true, columns: 120 });
    for (const word of ['claimed', 'needs_input', 'input_received', 'completed', 'Pay 500?', 'Paid 500'])
      expect(result.stdout).toContain(word);
  });

  it('are shown, changed and deleted by agent', async () => {
    await queue('one');
    await queue('two');
    await service.agent('- say: hi', 'worker');
    await service.agent('- create_case: { queue: one, title: more }', 'colleague');
    const emptyResult = await service.cli(['agents', 'triggers', 'get', 'worker']);
    expect(emptyResult).toMatchObject({ code: 3, stdout: '' });
    expect(emptyResult.stderr).toContain('error: The agent worker has no case trigger.');
    expect((await service.cli(['agents', 'triggers', 'preview', 'worker', '--queue', 'one'])).stdout).toBe(
      'No other agents process this queue.\n',
    );
    const createResult = await service.cli([
      'agents',
      'triggers',
      'create',
      'worker',
      '--queue',
      'one',
      '--concurrency',
      '1',
      '--no-enabled',
      '--json',
    ]);
    expect(createResult.json()).toMatchObject({ enabled: false, concurrency: 1 });
    expect(await service.cli(['agents', 'triggers', 'create', 'worker', '--queue', 'two'])).toMatchObject({ code: 6, stdout: '' });
    const changeResult = await service.cli(['agents', 'triggers', 'update', 'worker', '--enabled', '--concurrency', '0', '--json']);
    expect(changeResult.json()).toMatchObject({ enabled: true, concurrency: null });
    const conflict = await service.cli(['agents', 'triggers', 'create', 'colleague', '--queue', 'one', '-o', 'id']);
    expect(conflict).toMatchObject({ code: 0 });
    expect(conflict.stderr).toContain('worker also processes the queue one; each case goes to one of these agents.');
    expect((await service.cli(['agents', 'triggers', 'preview', 'worker', '--queue', 'one'])).stdout).toContain('colleague');
    const list = await service.cli(['agents', 'triggers', 'list', 'worker', '--fields', 'case_queue_name,has_conflict']);
    expect(list).toMatchObject({ code: 0, stdout: 'one\ttrue\n' });
    const agents = await service.cli(['queues', 'agents', 'one', '--color', 'never'], { tty: true, columns: 120 });
    expect(agents.stdout).toMatch(/adds cases +colleague +active/);
    expect(agents.stdout).toMatch(/takes cases +worker +active +8 +several triggers/);
    const moveResult = await service.cli(['agents', 'triggers', 'update', 'worker', '--queue', 'two', '--json']);
    expect(moveResult.json()).toMatchObject({ case_queue_name: 'two', has_conflict: false });
    expect(await service.cli(['agents', 'triggers', 'update', 'worker'])).toMatchObject({ code: 2, stdout: '' });
    const useResult = await service.cli(['queues', 'delete', 'two', '--yes']);
    expect(useResult).toMatchObject({ code: 6, stdout: '' });
    expect(useResult.stderr).toContain('An agent has a case trigger on this queue: worker.');
    expect(await service.cli(['agents', 'triggers', 'delete', 'worker'])).toMatchObject({ code: 2, stdout: '' });
    const deleteResult = await service.cli(['agents', 'triggers', 'delete', 'worker', '--yes']);
    expect(deleteResult).toMatchObject({ code: 0, stdout: 'Deleted the case trigger on two.\n', stderr: '' });
    expect((await service.cli(['queues', 'delete', 'two', '--yes'])).code).toBe(0);
  });
});
