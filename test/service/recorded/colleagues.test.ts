import { it } from 'vitest';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { Recording, steps } from './recording.ts';

it('what two credentials of a team see and change of each other', async () => {
  const recording = await Recording.start({ runtimes: [scriptRuntime] });
  const { call } = recording;
  const { token, secret } = await call('createLocalToken', { body: { name: 'Ana' } });
  const ana = recording.as(recording.api.as(secret));

  // Artifacts.
  const { artifact_id: artifactId } = await call('createArtifact', { body: { message: 'title "Week"; runs by status' } });
  const params = { artifactId };
  await ana('getArtifact', { params });
  await ana('renderArtifact', { params });
  await call('publishArtifact', { params, body: { visibility: 'team' } });
  await ana('getArtifact', { params });
  await ana('updateArtifact', { params, body: { title: 'Mine' } });
  await ana('sendArtifactMessage', { params, body: { message: 'usage' } });
  await call('publishArtifact', { params, body: { visibility: 'team', permission: 'edit' } });
  await ana('sendArtifactMessage', { params, body: { message: 'add usage' } });
  await ana('publishArtifact', { params, body: { visibility: 'private' } });
  await ana('deleteArtifact', { params });
  const { artifact_id: own } = await ana('createArtifact', { body: { message: 'agents' } });
  for (const list of [call, ana]) for (const scope of ['created', 'shared', 'team']) await list('listArtifacts', { query: { scope } });
  await call('getArtifact', { params: { artifactId: own } });

  // A request with several answers, and one by message.
  const { agent } = await ana('createAgent', {
    body: {
      name: 'Books',
      build: {
        name: 'first',
        config: steps(
          'ask: { id: all, title: Details, questions: [{ question: Centres?, multi_select: true, options: [{ label: A }, { label: B }] }, { question: Note?, header: note }] }',
          'approve: { id: book, title: "Book {{ answers.all.note }}?" }',
          'say: Never.',
        ),
      },
    },
  });
  const { run } = await call('startRun', { body: { agent_id: agent.id } });
  const runs = { run_id: run.id };
  const pending = async (): Promise<string> => (await call('getRun', { params: runs })).pending_human_request?.id as string;
  const requests = { ...runs, request_id: await pending() };
  for (const answers of [
    { 'Centres?': 'C', 'Note?': 'x' },
    { 'Centres?': 'A, A', 'Note?': '' },
    { 'Centres?': ['B'], 'Note?': 'x' },
  ])
    await ana('respondToHumanRequest', { params: requests, body: { answers } });
  await ana('respondToHumanRequest', { params: requests, body: { answers: { 'Centres?': 'B, A', 'Note?': 'Desks' } } });
  await call('postRunMessage', { params: runs, body: { message: 'Not today.', expected_human_request_id: await pending() } });
  await call('listRunHumanRequests', { params: runs });
  await call('getRun', { params: runs });
  await call('listRunMessages', { params: runs });

  // Who did it remains known.
  const { queue } = await ana('createQueue', { body: { name: 'Invoices' } });
  const { added_cases: added } = await ana('createCases', { params: { queue_id: queue.id }, body: { case: { title: 'Desk' } } });
  const case_ids = added.map(({ id }) => id);
  await ana('bulkUpdateCaseStatus', { params: { queue_id: queue.id }, body: { case_ids, status: 'completed' } });
  await ana('createSchedule', { params: { agent_id: agent.id }, body: { enabled: false, frequency: 'daily', timezone: 'UTC' } });
  await call('revokeLocalToken', { params: { token_id: token.id } });
  await ana('getLocalCredential');
  await call('getCase', { params: { case_id: case_ids[0] as string } });
  await call('listAgentSchedules', { params: { agent_id: agent.id } });
  await call('listRunHumanRequests', { params: runs });
  await call('listArtifacts', { query: { scope: 'team' } });
  await recording.expectToBe('colleagues');
});
