import { it } from 'vitest';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { Recording, steps } from './recording.ts';

const hour = 60 * 60_000;

it('artifacts, from the first message to their removal', async () => {
  const recording = await Recording.start({ runtimes: [scriptRuntime] });
  const { call } = recording;
  const { agent } = await call('createAgent', { body: { name: 'Invoices', build: { name: 'first', config: steps('say: Paid.') } } });
  await call('startRun', { body: { agent_id: agent.id, message: 'July' } });
  const { artifact_id: artifactId } = await call('createArtifact', { body: { message: 'title "Week"; runs by status; chart of runs' } });
  const params = { artifactId };
  await call('getArtifact', { params });
  const { data: asked } = await call('listArtifactMessages', { params });
  const [, { message }] = asked as unknown as [unknown, { message: { toolCallId: string; questions: [{ question: string }] } }];
  const { toolCallId, questions } = message;
  const question = questions[0].question;
  await call('sendArtifactMessage', { params, body: { message: 'usage' } });
  await call('answerArtifactQuestion', { params, body: { toolCallId, answers: { [question]: 'none of these' } } });
  await call('answerArtifactQuestion', { params, body: { toolCallId, answers: { [question]: 'agent' } } });
  await call('getArtifact', { params });
  await call('renderArtifact', { params });
  await call('sendArtifactMessage', { params, body: { message: 'add usage; make me a sandwich' } });
  await call('sendArtifactMessage', { params, body: { message: 'title "Paid"; remove 1; agents' } });
  const { revisions } = await call('listArtifactRevisions', { params });
  await call('renderArtifactRevision', { params: { ...params, revisionId: revisions.at(-1)?.id as string } });
  await call('restoreArtifactRevision', { params: { ...params, revisionId: revisions.at(-1)?.id as string } });
  await call('listArtifactMessages', { params, query: { limit: 2 } });
  await call('updateArtifact', { params, body: { title: 'Weekly', refresh_frequency: 'hourly' } });
  await call('startRun', { body: { agent_id: agent.id } });
  await recording.pass(2 * hour);
  await call('getArtifact', { params });
  await call('refreshArtifact', { params });
  await call('exportArtifactHtml', { params, query: { theme: 'dark' } });
  await call('publishArtifact', { params, body: { visibility: 'team', permission: 'edit' } });
  const copy = await call('duplicateArtifact', { params });
  await call('listArtifacts', { query: { scope: 'created' } });
  await call('stopArtifactMessage', { params: { artifactId: copy.id }, body: { partial_text: 'As far as I got' } });
  const connection = await call('createConnection', {
    body: { name: 'crm', provider: 'user', auth_method: 'url', server_url: 'http://127.0.0.1:9/mcp' },
  });
  await call('attachArtifactConnection', { params, body: { connection_id: connection.id } });
  await call('listArtifactConnections', { params });
  await call('detachArtifactConnection', { params: { ...params, connectionId: connection.id } });
  await call('deleteArtifact', { params });
  await call('getArtifact', { params });
  await call('listArtifacts');
  await recording.expectToBe('artifacts');
});
