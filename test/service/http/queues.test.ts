import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { covers } from '../helpers/coverage.ts';
import { failure } from '../helpers/webhooks.ts';

const service = covers('queues');

describe('queues', () => {
  it('are created, read, changed, listed, and deleted', async () => {
    const api = await service();
    const { queue } = await api.ok('createQueue', { body: { name: ' Invoices ', description: 'To be paid' } });
    expect(queue).toMatchObject({ name: 'Invoices', description: 'To be paid', folder_id: null, has_approvals: false });
    expect((await api.ok('getQueue', { params: { queue_id: queue.id } })).queue).toEqual(queue);

    const folder = randomUUID();
    const changedQueue = await api.ok('updateQueue', {
      params: { queue_id: queue.id },
      body: { name: 'Bills', description: null, folder_id: folder },
    });
    expect(changedQueue.queue).toMatchObject({ id: queue.id, name: 'Bills', description: null, folder_id: folder });
    expect((await api.ok('updateQueue', { params: { queue_id: queue.id }, body: {} })).queue).toEqual(changedQueue.queue);

    const automation_id = randomUUID();
    const { queue: second } = await api.ok('createQueue', { body: { name: 'Claims', automation_id } });
    expect(await api.ok('listQueues')).toEqual({ queues: [changedQueue.queue, second], total: 2, limit: 250, offset: 0 });
    expect(await api.ok('listQueues', { query: { limit: 1, offset: 1 } })).toMatchObject({ queues: [second], total: 2, limit: 1 });
    expect(await api.ok('listQueues', { query: { automation_id } })).toMatchObject({ queues: [second], total: 1 });

    await api.ok('createCases', { params: { queue_id: queue.id }, body: { cases: [{ title: 'a' }, { title: 'b' }] } });
    expect(await api.ok('deleteQueue', { params: { queue_id: queue.id } })).toEqual({
      success: true,
      deleted_case_count: 2,
      interrupted_run_ids: [],
    });
    expect(failure(await api.call('getQueue', { params: { queue_id: queue.id } }))).toEqual([404, 'queue_not_found']);
    expect((await api.ok('listQueues')).total).toBe(1);
  });

  it('have unique names within their team', async () => {
    const api = await service();
    const { queue } = await api.ok('createQueue', { body: { name: 'Invoices' } });
    const { queue: otherQueue } = await api.ok('createQueue', { body: { name: 'Claims' } });
    expect(failure(await api.call('createQueue', { body: { name: 'Invoices' } }))).toEqual([409, 'queue_name_taken']);
    const renameAnswer = await api.call('updateQueue', { params: { queue_id: otherQueue.id }, body: { name: 'Invoices' } });
    expect(failure(renameAnswer)).toEqual([409, 'queue_name_taken']);
    expect((await api.ok('updateQueue', { params: { queue_id: queue.id }, body: { name: 'Invoices' } })).queue).toEqual(queue);
    const otherTeam = await api.inNewTeam();
    expect((await otherTeam.ok('createQueue', { body: { name: 'Invoices' } })).queue.name).toBe('Invoices');
  });

  it('reject invalid fields and unknown IDs', async () => {
    const api = await service();
    for (const body of [
      {},
      { name: '' },
      { name: '  ' },
      { name: 'x'.repeat(101) },
      { name: 'x', description: 'x'.repeat(501) },
      { name: 'x', folder_id: 'y' },
    ])
      expect(failure(await api.call('createQueue', { body }))).toEqual([400, 'invalid_request']);
    expect(failure(await api.call('listQueues', { query: { limit: 251 } }))).toEqual([400, 'invalid_request']);
    expect(failure(await api.call('listQueues', { params: { teamId: randomUUID() } }))).toEqual([404, 'team_not_found']);
    expect(failure(await api.call('createQueue', { params: { teamId: randomUUID() }, body: { name: 'x' } }))).toEqual([
      404,
      'team_not_found',
    ]);
    const { queue } = await api.ok('createQueue', { body: { name: 'Mine' } });
    const otherApi = await api.inNewTeam();
    for (const [caller, queue_id] of [
      [api, randomUUID()],
      [otherApi, queue.id],
    ] as const) {
      expect(failure(await caller.call('getQueue', { params: { queue_id } }))).toEqual([404, 'queue_not_found']);
      expect(failure(await caller.call('updateQueue', { params: { queue_id }, body: { name: 'x' } }))).toEqual([404, 'queue_not_found']);
      expect(failure(await caller.call('deleteQueue', { params: { queue_id } }))).toEqual([404, 'queue_not_found']);
    }
  });
});
