/** Checks the answers of a service, and keeps the last ones, so that a failure to use one can be explained. */
import type { ErrorDetails } from '../base/errors.ts';
import { isObject } from '../base/values.ts';
import type { OperationId } from '../interface/operations.ts';
import type { Response } from '../interface/types.ts';
import { runNotVisible, UnusableAnswerError } from './errors.ts';
import type { Reading } from './transport.ts';

/** What a member is, as `typeof` names it, or an array. */
type Kind = 'array' | 'object' | 'string' | 'number' | 'boolean';

type KindOf<Value> = Value extends readonly unknown[]
  ? 'array'
  : Value extends string
    ? 'string'
    : Value extends number
      ? 'number'
      : Value extends boolean
        ? 'boolean'
        : 'object';

/** The members of each operation's response that its callers rely on; for operations not listed, any object will do. */
export const requiredMembers: {
  readonly [Id in OperationId]?: { readonly [Name in keyof Response<Id> & string]?: KindOf<NonNullable<Response<Id>[Name]>> };
} = {
  getTeam: { team: 'object' },
  listAgents: { agents: 'array', total: 'number' },
  createAgent: { agent: 'object' },
  getAgent: { agent: 'object' },
  updateAgent: { agent: 'object' },
  listAgentRevisions: { builds: 'array', total: 'number' },
  createRevision: { build: 'object' },
  getRevision: { build: 'object' },
  updateRevision: { build: 'object' },
  createSandbox: { sandbox_id: 'string' },
  listSandboxFiles: { files: 'array' },
  uploadSandboxFile: { path: 'string', size_bytes: 'number' },
  uploadSandboxArchive: { files: 'number', size_bytes: 'number' },
  createSandboxUploadUrl: { upload_url: 'string', path: 'string' },
  listAgentRunSandboxFiles: { data: 'object' },
  listRunSandboxFiles: { data: 'object' },
  listRuns: { data: 'array', total: 'number' },
  startRun: { run: 'object' },
  getRun: { run: 'object' },
  listRunMessages: { messages: 'array', total: 'number' },
  postRunMessage: { message: 'object' },
  respondToHumanRequest: { human_request: 'object' },
  listBrowserSessionPages: { pages: 'array' },
  listArtifacts: { artifacts: 'array', total: 'number' },
  createArtifact: { artifact_id: 'string', user_message: 'object' },
  getArtifact: { artifact: 'object' },
  listArtifactMessages: { data: 'array', has_more: 'boolean' },
  sendArtifactMessage: { user_message: 'object' },
  listArtifactRevisions: { revisions: 'array' },
  stopArtifactMessage: { artifact: 'object' },
  listArtifactConnections: { connections: 'array' },
  getLocalCredential: { credential: 'object' },
  listTeams: { teams: 'array', total: 'number' },
  listLocalTeams: { teams: 'array', total: 'number' },
  createLocalTeam: { team: 'object' },
  updateLocalTeam: { team: 'object' },
  listLocalTokens: { tokens: 'array', total: 'number' },
  createLocalToken: { token: 'object', secret: 'string' },
  listLocalClients: { clients: 'array', total: 'number' },
  createLocalClient: { client: 'object', secret: 'string', token_url: 'string' },
};

const kindWords: Record<Kind, string> = {
  array: 'the list',
  object: 'the object',
  string: 'the text',
  number: 'the number',
  boolean: 'the boolean',
};

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

/**
 * The response as the type that the operation returns. A service may leave out `pending_human_request` when there is none
 * (further groups, getRun).
 * @throws UnusableAnswerError when it is not of that type, AopsError `run_not_shown` for a run that is null
 */
export function checkAnswer<Id extends OperationId>(id: Id, { value }: Reading & { value?: unknown }, details: ErrorDetails): Response<Id> {
  if (!isObject(value)) throw new UnusableAnswerError(details);
  if (id === 'getRun' && value.run === null) throw runNotVisible(details);
  for (const [name, kind] of Object.entries((requiredMembers[id] ?? {}) as Record<string, Kind>))
    if (kindOf(value[name]) !== kind) throw new UnusableAnswerError(details, `${kindWords[kind]} "${name}"`);
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
