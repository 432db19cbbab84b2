/** The human requests of a run remain readable with their answers, and with the credential that gave each of them. */
import { expect, it } from 'vitest';
import type { Outcome, RunHost } from '../../../src/service/runtimes/run-host.ts';
import { config, startApi } from '../helpers/service.ts';

const questions = [{ question: 'Which month?', options: [{ label: 'March' }, { label: 'April' }] }];

/** Makes three requests one after the other. */
async function askThrice(host: RunHost): Promise<Outcome> {
  if (host.answer('first') === undefined)
    return { status: 'waiting', step: 'first', request: { type: 'question', title: 'Month', questions } };
  if (host.answer('second') === undefined) return { status: 'waiting', step: 'second', request: { type: 'approval', title: 'Pay?' } };
  return { status: 'waiting', step: 'third', request: { type: 'approval', title: 'Send?', description: 'To all.' } };
}

it('lists the human requests of a run with what became of them and who answered', async () => {
  const api = await startApi({ behaviours: { ask: askThrice } });
  const colleague = await api.withToken({ name: 'Ana' });
  const { agent } = await api.ok('createAgent', { body: { name: 'asker', build: { name: 'b', config: config('ask') } } });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
  const params = { run_id: run.id };
  const pendingId = async (title: string): Promise<string> => {
    for (;;) {
      const { pending_human_request: request } = await api.ok('getRun', { params });
      if (request?.title === title) return request.id;
      await api.until(run.id, 'waiting');
    }
  };
  const month = await pendingId('Month');
  await api.ok('respondToHumanRequest', { params: { ...params, request_id: month }, body: { answers: { 'Which month?': 'April' } } });
  await pendingId('Pay?');
  // A message to a waiting run is an answer, too.
  await colleague.ok('postRunMessage', { params, body: { message: 'Not today.' } });
  await pendingId('Send?');
  await api.ok('stopRun', { params });
  await api.until(run.id, 'interrupted');

  const { human_requests: requests, total } = await api.ok('listRunHumanRequests', { params });
  expect(total).toBe(3);
  expect(requests).toMatchObject([
    { id: month, type: 'question', questions, status: 'answered', response: 'April', responded_by: { name: 'Local' } },
    { title: 'Pay?', status: 'answered', response: 'denied: Not today.', responded_by: { name: 'Ana' } },
    { title: 'Send?', description: 'To all.', status: 'withdrawn', response: null, responded_at: null, responded_by: null },
  ]);
  const page = await api.ok('listRunHumanRequests', { params, query: { limit: 1, offset: 1 } });
  expect(page).toMatchObject({ human_requests: [{ title: 'Pay?' }], total: 3, limit: 1, offset: 1 });

  // The name remains known after the credential was revoked.
  const { tokens } = await api.ok('listLocalTokens');
  await api.ok('revokeLocalToken', { params: { token_id: tokens[0]?.id as string } });
  expect((await api.ok('listRunHumanRequests', { params })).human_requests[1]).toMatchObject({ responded_by: { name: 'Ana' } });
  const stranger = await api.inNewTeam();
  expect((await stranger.call('listRunHumanRequests', { params })).status).toBe(404);
});
