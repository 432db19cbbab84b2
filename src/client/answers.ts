/** Checks the answers of a service, and keeps the last ones, so that a failure to use one can be explained. */
import type { ErrorDetails } from '../base/errors.ts';
import type { OperationId } from '../interface/operations.ts';
import type { Response } from '../interface/types.ts';
import { runNotVisible, UnusableAnswerError } from './errors.ts';
import type { Reading } from './transport.ts';

/** The members of each operation's response that its callers rely on; for operations not listed, any object will do. */
export const requiredMembers: { readonly [Id in OperationId]?: readonly (keyof Response<Id> & string)[] } = {
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
  uploadSandboxArchive: ['files', 'size_bytes'],
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
  listTeams: ['teams', 'total'],
  listLocalTeams: ['teams', 'total'],
  createLocalTeam: ['team'],
  updateLocalTeam: ['team'],
  listLocalTokens: ['tokens', 'total'],
  createLocalToken: ['token', 'secret'],
  listLocalClients: ['clients', 'total'],
  createLocalClient: ['client', 'secret', 'token_url'],
};

/**
 * The response as the type that the operation returns. A service may leave out `pending_human_request` when there is none
 * (further groups, getRun).
 * @throws UnusableAnswerError when it is not of that type, AopsError `run_not_shown` for a run that is null
 */
export function checkAnswer<Id extends OperationId>(id: Id, { value }: Reading & { value?: unknown }, details: ErrorDetails): Response<Id> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UnusableAnswerError(details);
  if (id === 'getRun' && (value as { run?: unknown }).run === null) throw runNotVisible(details);
  const missingField = requiredMembers[id]?.find((name) => (value as Record<string, unknown>)[name] == null);
  if (missingField !== undefined) throw new UnusableAnswerError(details, missingField);
  return (id === 'getRun' ? { pending_human_request: null, ...value } : value) as Response<Id>;
}

/** An answer as it was received. */
export interface ReceivedAnswer {
  id: OperationId;
  value: unknown;
  details: ErrorDetails;
}

/** How many answers are kept: commands rarely combine more, and pages of a list can be large. */
const maxKept = 8;

export class Answers {
  #last: ReceivedAnswer[] = [];

  /** The last answers that were checked, newest first. */
  get last(): readonly ReceivedAnswer[] {
    return this.#last;
  }

  /** `checkAnswer` for an answer that is kept. */
  check<Id extends OperationId>(id: Id, reading: Reading & { value?: unknown }, details: ErrorDetails): Response<Id> {
    this.#last = [{ id, value: reading.value, details }, ...this.#last.slice(0, maxKept - 1)];
    return checkAnswer(id, reading, details);
  }
}
