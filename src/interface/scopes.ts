/**
 * The access that each operation requires. The scopes are those of the interface (further groups, OAuth client credentials);
 * where the interface does not define which operation needs which scope, we do. Loads no schema.
 */
import type { OperationId } from './operations.ts';

/** The scopes, in the order of the interface. */
export const scopes = [
  'runs:read',
  'runs:write',
  'queues:write',
  'approvals:write',
  'files:read',
  'sandboxes:write',
  'webhooks:manage',
  'mcp:call',
] as const;
export type Scope = (typeof scopes)[number];

/** What each scope permits. */
export const scopeMeanings: Readonly<Record<Scope, string>> = {
  'runs:read': 'Read agents and their revisions, runs and their messages, queues and cases, artifacts, connections, and usage',
  'runs:write':
    'Start runs, send them messages, and stop them. A webhook_url for the events of a run also needs runs:read or webhooks:manage',
  'queues:write': 'Change queues, cases, and labels',
  'approvals:write': 'Answer human requests, including with a message to a run that waits for a person',
  'files:read': 'Read files and screenshots of runs and sandboxes',
  'sandboxes:write': 'Create sandboxes and upload files to them',
  'webhooks:manage': 'Read and change webhooks, which receive the full content of every event, and read and rotate their signing secret',
  'mcp:call': 'Call the MCP endpoint; each of its tools also needs the scopes for what it does',
};

/**
 * What an operation requires: a scope; `any` credential; `full` access, which a credential has if it is not limited to
 * scopes; or the credential of the `owner`, which is in the data directory.
 */
export type Access = Scope | 'any' | 'full' | 'owner';

/**
 * Reads need `runs:read`, files need `files:read`. Operations that no scope covers, such as changing agents and their procedures, need
 * full access: a credential that can start runs should not be able to rewrite what they do. So does creating artifacts, because a
 * page can show all data of the team.
 */
export const operationAccess: Readonly<Record<OperationId, Access>> = {
  listTeams: 'any',
  getTeam: 'any',

  listTeamWebhooks: 'webhooks:manage',
  createTeamWebhook: 'webhooks:manage',
  updateTeamWebhook: 'webhooks:manage',
  deleteTeamWebhook: 'webhooks:manage',
  getTeamWebhookSecret: 'webhooks:manage',
  rotateTeamWebhookSecret: 'webhooks:manage',
  createTestWebhookEvent: 'webhooks:manage',
  listWebhookDeliveries: 'webhooks:manage',
  getWebhookDelivery: 'webhooks:manage',
  resendWebhookDelivery: 'webhooks:manage',

  listAgents: 'runs:read',
  createAgent: 'full',
  getAgent: 'runs:read',
  updateAgent: 'full',
  deleteAgent: 'full',
  listAgentRevisions: 'runs:read',
  createRevision: 'full',
  getRevision: 'runs:read',
  updateRevision: 'full',
  promoteRevision: 'full',

  listAgentSchedules: 'runs:read',
  createSchedule: 'full',
  updateSchedule: 'full',
  deleteSchedule: 'full',

  listAgentSecrets: 'runs:read',
  setAgentSecret: 'full',
  deleteAgentSecret: 'full',

  listAcpAgents: 'runs:read',
  checkAgent: 'full',

  listAgentMemoryFiles: 'runs:read',
  getAgentMemoryFile: 'runs:read',

  getEvalRubrics: 'runs:read',
  createEvalRubric: 'full',
  replaceEvalRubrics: 'full',
  updateEvalRubric: 'full',
  deleteEvalRubric: 'full',

  generateRevision: 'full',
  getLatestBuilderRun: 'runs:read',
  acceptRevision: 'full',
  declineRevision: 'full',
  discardRevision: 'full',
  getBuilderRunStatus: 'runs:read',
  answerBuilderRun: 'full',

  createSandbox: 'sandboxes:write',
  listSandboxFiles: 'files:read',
  uploadSandboxFile: 'sandboxes:write',
  uploadSandboxArchive: 'sandboxes:write',
  createSandboxUploadUrl: 'sandboxes:write',
  listAgentRunSandboxFiles: 'files:read',
  listRunSandboxFiles: 'files:read',
  getAgentRunSandboxFileContent: 'files:read',
  getAgentRunSandboxArchive: 'files:read',
  getRunSandboxArchive: 'files:read',
  getRunSandboxFileContent: 'files:read',
  getRunChanges: 'files:read',
  getRunScreenshotTimeline: 'files:read',
  getAgentRunScreenshotTimeline: 'files:read',

  listRuns: 'runs:read',
  startRun: 'runs:write',
  getRun: 'runs:read',
  listRunMessages: 'runs:read',
  listRunHumanRequests: 'runs:read',
  postRunMessage: 'runs:write',
  respondToHumanRequest: 'approvals:write',
  stopRun: 'runs:write',
  getRunDetail: 'runs:read',
  getWorkflowExecutionReport: 'runs:read',
  listBrowserSessionPages: 'files:read',
  downloadRunFile: 'files:read',

  streamRunEvents: 'runs:read',
  streamRunsEvents: 'runs:read',
  streamTeamEvents: 'runs:read',

  listQueues: 'runs:read',
  createQueue: 'queues:write',
  getQueue: 'runs:read',
  updateQueue: 'queues:write',
  deleteQueue: 'queues:write',

  listCases: 'runs:read',
  createCases: 'queues:write',
  clearQueueCases: 'queues:write',
  searchCases: 'runs:read',
  getCase: 'runs:read',
  deleteCase: 'queues:write',
  listCaseRuns: 'runs:read',
  listCaseRunRecentMessages: 'runs:read',
  bulkDeleteCases: 'queues:write',
  bulkReprocessCases: 'queues:write',
  bulkUpdateCasePriority: 'queues:write',
  bulkUpdateCaseStatus: 'queues:write',
  bulkDelegateCases: 'queues:write',
  bulkRetryCases: 'queues:write',
  listQueueLabels: 'runs:read',
  createQueueLabel: 'queues:write',
  updateQueueLabel: 'queues:write',
  deleteQueueLabel: 'queues:write',
  listCaseLabels: 'runs:read',
  assignCaseLabels: 'queues:write',
  unlinkCaseLabels: 'queues:write',

  listAgentCaseTriggers: 'runs:read',
  createAgentCaseTrigger: 'full',
  previewAgentCaseTriggerConflicts: 'runs:read',
  getAgentCaseTrigger: 'runs:read',
  updateAgentCaseTrigger: 'full',
  deleteAgentCaseTrigger: 'full',
  listQueueAgents: 'runs:read',

  listArtifacts: 'runs:read',
  createArtifact: 'full',
  getArtifact: 'runs:read',
  updateArtifact: 'full',
  deleteArtifact: 'full',
  answerArtifactQuestion: 'full',
  listArtifactConnections: 'runs:read',
  attachArtifactConnection: 'full',
  detachArtifactConnection: 'full',
  duplicateArtifact: 'full',
  exportArtifactHtml: 'runs:read',
  exportArtifactPdf: 'runs:read',
  listArtifactMessages: 'runs:read',
  sendArtifactMessage: 'full',
  publishArtifact: 'full',
  refreshArtifact: 'full',
  renderArtifact: 'runs:read',
  listArtifactRevisions: 'runs:read',
  renderArtifactRevision: 'runs:read',
  restoreArtifactRevision: 'full',
  stopArtifactMessage: 'full',

  getLocalCredential: 'any',
  createPageCode: 'owner',
  listLocalTeams: 'owner',
  createLocalTeam: 'owner',
  updateLocalTeam: 'owner',
  deleteLocalTeam: 'owner',
  listLocalTokens: 'owner',
  createLocalToken: 'owner',
  revokeLocalToken: 'owner',
  listLocalClients: 'owner',
  createLocalClient: 'owner',
  revokeLocalClient: 'owner',
  createBackupHold: 'owner',
  updateBackupHold: 'owner',
  deleteBackupHold: 'owner',
  getTeamUsage: 'runs:read',
  getTeamEntitlements: 'any',

  listPluginCatalog: 'any',

  listConnections: 'runs:read',
  createConnection: 'full',
  getConnection: 'runs:read',
  updateConnection: 'full',
  deleteConnection: 'full',
  listConnectionTools: 'full',
  probeMcpServer: 'full',
  checkMcpOAuth: 'full',
  authorizeMcpOAuth: 'full',
  startNativeOAuth: 'full',

  callMcp: 'mcp:call',
  getMcp: 'mcp:call',
};

export const isScope = (word: string): word is Scope => Object.hasOwn(scopeMeanings, word);

/** The scope that an operation needs; undefined if it requires something else. */
export function scopeOf(id: OperationId): Scope | undefined {
  const access = operationAccess[id];
  return isScope(access) ? access : undefined;
}
