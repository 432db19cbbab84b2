import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import queueAgents from '../../src/commands/queues/agents.ts';
import getQueue from '../../src/commands/queues/get.ts';
import type { Queue } from '../../src/interface/types.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { showResult } from '../support/shown-result.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

async function queue(name: string, cases: object[] = []): Promise<string> {
  const { queue } = await service.api<{ queue: Queue }>('POST', `/teams/${service.service.teamId}/queues`, { name });
  if (cases.length > 0) await service.api('POST', `/queues/${queue.id}/cases`, { cases });
  return queue.id;
}

describe('queues', () => {
  it('are created, shown, renamed and listed by name or ID', async () => {
    const creation = await service.cli(['queues', 'create', 'invoices', '--description', 'To check', '--json']);
    expect(creation).toMatchObject({ code: 0, stderr: '' });
    const { id } = creation.json<Queue>();
    for (const name of [id, id.toUpperCase(), 'invoices']) {
      expect(await service.cli(['queues', 'get', name, '-o', 'id'])).toMatchObject({ code: 0, stdout: `${id}\n`, stderr: '' });
    }
    const updateResult = await service.cli(['queues', 'update', 'invoices', '--name', 'bills', '--description', '', '--json']);
    expect(updateResult.json()).toMatchObject({ id, name: 'bills', description: null });
    const result = await service.cli(['queues', 'get', 'bills', '--color', 'never'], { tty: true });
    expect(result.stdout).toMatch(/Name: +bills/);
    expect(result.stdout).toMatch(/Cases: +0 cases\nProcessed by: +no agent\n$/);
    await queue('claims');
    const list = await service.cli(['queues', 'list', '--json']);
    expect(list.json<{ data: Queue[] }>().data.map(({ name }) => name)).toEqual(['bills', 'claims']);
    expect((await service.cli(['queues', 'list', '--limit', '1', '--offset', '1', '--fields', 'name'])).stdout).toBe('claims\n');
  });

  it('belong to an automation and a folder', async () => {
    const [automation, folder] = [randomUUID(), randomUUID()];
    const creation = await service.cli(['queues', 'create', 'automated', '--automation', automation, '--folder', folder, '--json']);
    expect(creation.json()).toMatchObject({ automation_id: automation, folder_id: folder });
    expect((await service.cli(['queues', 'list', '--automation', automation, '--fields', 'name'])).stdout).toBe('automated\n');
    expect((await service.cli(['queues', 'list', '--automation', folder])).stdout).toBe('');
    expect((await service.cli(['queues', 'update', 'automated', '--folder', '', '--json'])).json()).toMatchObject({ folder_id: null });
    expect(await service.cli(['queues', 'update', 'automated', '--folder', 'x'])).toMatchObject({ code: 2, stdout: '' });
    await service.cli(['queues', 'delete', 'automated', '--yes']);
  });

  it('show their case counts, their agents and the next step', async () => {
    await queue('counted', [{ title: 'a' }, { title: 'b' }, { title: 'c' }]);
    const id = (await service.cli(['cases', 'list', 'counted', '--limit', '1', '-o', 'id'])).stdout.trim();
    const get = async () => (await service.cli(['queues', 'get', 'counted'])).stdout;
    expect(await get()).toContain(
      'Cases\t3 pending cases\nProcessed by\tno agent\nNext\taops agents triggers create AGENT --queue counted\n',
    );
    await service.cli(['cases', 'set-status', id, '--to', 'failed']);
    await service.agent('- say: hi', 'counter');
    await service.cli(['agents', 'triggers', 'create', 'counter', '--queue', 'counted', '--no-enabled']);
    expect(await get()).toContain(
      'Cases\t3 cases: 2 pending, 1 failed\nProcessed by\tcounter (off)\nNext\taops cases list counted --status failed\n',
    );
    await service.cli(['cases', 'delete', id, '--yes']);
    expect(await get()).not.toContain('Next');
    const json = (await service.cli(['queues', 'get', 'counted', '--json'])).json();
    expect(json).toMatchObject({
      name: 'counted',
      case_counts: { pending: 2, in_progress: 0, needs_input: 0, postponed: 0, completed: 0, failed: 0 },
      consumers: [{ agent_name: 'counter', case_trigger_enabled: false }],
      producers: [],
    });
  });

  it('are suggested by their ID if a shell or a command would not take their name unchanged', async () => {
    for (const name of ['two words', '-x']) {
      const id = await queue(name, [{ title: 'a' }]);
      expect((await service.cli(['queues', 'get', id])).stdout).toContain(`aops agents triggers create AGENT --queue ${id}\n`);
    }
  });

  it('report errors with suggestions', async () => {
    await queue('reminders');
    const refusal = await service.cli(['queues', 'get', 'reminder']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toBe('error: There is no queue "reminder".\nhint: Did you mean reminders?\n');
    expect(await service.cli(['queues', 'create', 'reminders'])).toMatchObject({ code: 6, stdout: '' });
    expect(await service.cli(['queues', 'create', 'x'.repeat(101)])).toMatchObject({ code: 2, stdout: '' });
    expect((await service.cli(['queues', 'update', 'reminders'])).stderr).toContain('error: There is nothing to change.');
  });

  it('are cleared and deleted after confirmation, with the consequences shown first', async () => {
    await queue('doomed', [{ title: 'a' }, { title: 'b' }]);
    const refusal = await service.cli(['queues', 'clear', 'doomed']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('doomed: 2 pending cases\n');
    expect(refusal.stderr).toContain('Delete all cases of the queue "doomed"?');
    const clearResult = await service.cli(['queues', 'clear', 'doomed', '--yes']);
    expect(clearResult).toMatchObject({ code: 0, stdout: 'Deleted 2 cases of doomed.\n' });
    expect(await service.cli(['queues', 'delete', 'doomed'])).toMatchObject({ code: 2, stdout: '' });
    const deletion = await service.cli(['queues', 'delete', 'doomed', '--yes', '--json']);
    expect(deletion.json()).toMatchObject({ name: 'doomed', success: true, deleted_case_count: 0 });
    expect((await service.cli(['queues', 'delete', 'doomed', '--yes'])).code).toBe(3);
  });
});

describe('queues labels', () => {
  it('are created, listed, changed and deleted', async () => {
    await queue('labelled', [{ title: 'a', labels: [{ key: 'vendor', value: 'acme' }] }]);
    const creation = await service.cli(['queues', 'labels', 'create', 'labelled', 'urgent', '--hue', '10', '--json']);
    expect(creation.json()).toMatchObject({ key: '', value: 'urgent', color_hue: 10, case_count: 0 });
    const list = await service.cli(['queues', 'labels', 'list', 'labelled', '--fields', 'key,value,case_count']);
    expect(list).toMatchObject({ code: 0, stdout: '\turgent\t0\nvendor\tacme\t1\n', stderr: '' });
    const updateResult = await service.cli(['queues', 'labels', 'update', 'labelled', 'vendor=acme', '--to', 'vendor=Acme = Co', '--json']);
    expect(updateResult.json()).toMatchObject({ key: 'vendor', value: 'Acme = Co' });
    const refusal = await service.cli(['queues', 'labels', 'delete', 'labelled', 'vendor=Acme', '--yes']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain('The queue has no label "vendor=Acme".');
    const result = await service.cli(['queues', 'labels', 'delete', 'labelled', 'vendor=Acme = Co']);
    expect(result.stderr).toContain('Delete the label "vendor=Acme = Co" and remove it from 1 case?');
    const deletion = await service.cli(['queues', 'labels', 'delete', 'labelled', 'vendor=Acme = Co', '--yes']);
    expect(deletion).toMatchObject({ code: 0, stdout: 'Deleted the label vendor=Acme = Co and removed it from 1 case.\n' });
    for (const argv of [
      ['create', 'labelled', 'key='],
      ['update', 'labelled', 'urgent'],
      ['create', 'labelled', 'x', '--hue', '361'],
    ]) {
      expect(await service.cli(['queues', 'labels', ...argv])).toMatchObject({ code: 2, stdout: '' });
    }
  });
});

it('the agents of a queue are shown with it, and listed with what they do, their limits, and their problems', async () => {
  const agent = (agent_name: string, fields: object) => ({ agent_id: agent_name, agent_name, problems: [], ...fields });
  const consumer = { case_trigger_enabled: true, is_handover_target: false, at_concurrency_limit: false };
  const result = {
    producers: [
      agent('importer', { case_trigger_enabled: false, case_trigger_queue_name: null }),
      agent('copier', { case_trigger_enabled: false, case_trigger_queue_name: 'other', problems: ['producer_consumer_mix', 'new_word'] }),
    ],
    consumers: [
      agent('worker', { ...consumer, concurrency_limit: 8 }),
      agent('busy', { ...consumer, concurrency_limit: 0, at_concurrency_limit: true, problems: ['multiple_triggers'] }),
      agent('paused', { ...consumer, case_trigger_enabled: false }),
      agent('helper', { ...consumer, case_trigger_enabled: false, is_handover_target: true }),
      agent('both', { ...consumer, is_handover_target: true }),
    ],
  };
  const queue = { id: 'q', name: 'invoices', case_counts: {}, ...result };
  const shown = await showResult(getQueue, queue, 120);
  expect(shown.stdout).toMatch(/^Processed by: +worker, busy, paused \(off\), helper, both\nFilled by: +importer, copier$/m);
  const { stdout } = await showResult(queueAgents, result, 120);
  expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['ROLE', 'AGENT', 'TRIGGER', 'AT A TIME', 'PROBLEMS'],
    ['adds cases', 'importer'],
    ['adds cases', 'copier', 'off', 'both adds and takes cases, new_word'],
    ['takes cases', 'worker', 'active', '8'],
    ['takes cases', 'busy', 'active', '0 (reached)', 'several triggers'],
    ['takes cases', 'paused', 'off'],
    ['handed cases', 'helper'],
    ['takes cases', 'both', 'active'],
    [''],
  ]);
});
