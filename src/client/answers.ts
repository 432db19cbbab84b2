/** What an answer must have at its top: enough to tell the answer of an operation from anything else that is JSON. */
import type { ErrorDetails } from '../base/errors.ts';
import type { OperationId } from '../interface/operations.ts';
import type { Response } from '../interface/types.ts';
import { noRun, UnusableAnswerError } from './errors.ts';
import type { Reading } from './transport.ts';

/** Members of each operation's answer that its callers build on; operations not named here need an object alone. */
export const neededMembers: { readonly [Id in OperationId]?: readonly (keyof Response<Id> & string)[] } = {
  getTeam: ['team'],
  listAgents: ['agents', 'total'],
  createAgent: ['agent'],
  getAgent: ['agent'],
  updateAgent: ['agent'],
  listAgentRevisions: ['builds', 'total'],
  createRevision: ['build'],
  getRevision: ['build'],
  updateRevision: ['build'],
  createSandbox: ['sandbox_id'],
  listSandboxFiles: ['files'],
  uploadSandboxFile: ['path', 'size_bytes'],
  createSandboxUploadUrl: ['upload_url', 'path'],
  listAgentRunSandboxFiles: ['data'],
  listRunSandboxFiles: ['data'],
  listRuns: ['data', 'total'],
  startRun: ['run'],
  getRun: ['run'],
  listRunMessages: ['messages', 'total'],
  postRunMessage: ['message'],
  respondToHumanRequest: ['human_request'],
  listBrowserSessionPages: ['pages'],
  listArtifacts: ['artifacts', 'total'],
  createArtifact: ['artifact_id', 'user_message'],
  getArtifact: ['artifact'],
  listArtifactMessages: ['data', 'has_more'],
  sendArtifactMessage: ['user_message'],
  listArtifactRevisions: ['revisions'],
  stopArtifactMessage: ['artifact'],
  listArtifactConnections: ['connections'],
  getLocalCredential: ['credential'],
  listLocalTeams: ['teams', 'total'],
  createLocalTeam: ['team'],
  updateLocalTeam: ['team'],
  listLocalTokens: ['tokens', 'total'],
  createLocalToken: ['token', 'secret'],
  listLocalClients: ['clients', 'total'],
  createLocalClient: ['client', 'secret', 'token_url'],
};

/**
 * The answer, as what the operation returns. A service may leave out what a run asks when it asks nothing (further groups, getRun).
 * @throws UnusableAnswerError when it is not that, AopsError `run_not_shown` for a run that is null
 */
export function checkAnswer<Id extends OperationId>(id: Id, { value }: Reading & { value?: unknown }, details: ErrorDetails): Response<Id> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UnusableAnswerError(details);
  if (id === 'getRun' && (value as { run?: unknown }).run === null) throw noRun(details);
  const missing = neededMembers[id]?.find((name) => (value as Record<string, unknown>)[name] == null);
  if (missing !== undefined) throw new UnusableAnswerError(details, missing);
  return (id === 'getRun' ? { pending_human_request: null, ...value } : value) as Response<Id>;
}
