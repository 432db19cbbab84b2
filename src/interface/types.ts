/** Parameters and results of each operation, as types derived from its path and schemas. Erased at run time. */
import type { Static, TSchema } from 'typebox';
import type { PathParameterName } from './operation.ts';
import type { OperationId, operations } from './operations.ts';
import type { schemas } from './schemas.ts';

type SchemasOf<Id extends OperationId> = (typeof schemas)[Id];

export type Params<Id extends OperationId> = { [Name in PathParameterName<(typeof operations)[Id]['path']>]: string };
export type Query<Id extends OperationId> = SchemasOf<Id> extends { query: infer S extends TSchema } ? Static<S> : undefined;
export type Body<Id extends OperationId> = SchemasOf<Id> extends { body: infer S extends TSchema } ? Static<S> : undefined;
export type Response<Id extends OperationId> = SchemasOf<Id> extends { response: infer S extends TSchema } ? Static<S> : never;

/** Operations whose response is not JSON, and all others. */
export type MediaOperationId = {
  [Id in OperationId]: (typeof operations)[Id] extends { produces: string } ? Id : never;
}[OperationId];
/** Operations whose response is an event stream. */
export type StreamOperationId = {
  [Id in OperationId]: (typeof operations)[Id] extends { produces: 'text/event-stream' } ? Id : never;
}[OperationId];
export type JsonOperationId = Exclude<OperationId, MediaOperationId>;

/** All input of an operation; parts that it does not accept are absent. */
export type Input<Id extends OperationId> = (keyof Params<Id> extends never ? { params?: never } : { params: Params<Id> }) &
  (Query<Id> extends undefined ? { query?: never } : { query?: Query<Id> }) &
  (Body<Id> extends undefined ? { body?: never } : SchemasOf<Id> extends { optionalBody: true } ? { body?: Body<Id> } : { body: Body<Id> });

export type { ArtifactStatus, ArtifactTheme, ArtifactVisibility, PublishPermission, RefreshFrequency } from './artifact-words.ts';
export type { BuilderRunStatus } from './builder-run-status.ts';
export type { CaseDisplayStatus, CasePriority, CaseStatus, CaseStatusFilter } from './case-status.ts';
export type { RunStatus } from './run-status.ts';
export type { AgentCheck, CheckedProgram, CheckedTurn, RegisteredAgent } from './schemas/acp.ts';
export type { Agent, AgentListItem, Build, IntegrationConfig, RevisionConfig } from './schemas/agents.ts';
export type { Artifact, ArtifactConnection, ArtifactMessage, ArtifactRevision, SelectedElement } from './schemas/artifacts.ts';
export type { TeamEntitlements, TeamUsage } from './schemas/billing.ts';
export type { Case, CaseEvent, CaseFilters, CaseRun, Label, NewCase, QueueLabel } from './schemas/cases.ts';
export type { ErrorBody, EvaluationSummary } from './schemas/common.ts';
export type { Connection, ConnectionTool, ProbedServer } from './schemas/connections.ts';
export type { BackupHold, LocalCredential, LocalTeam } from './schemas/local.ts';
export type { MemoryFile, MemoryFileContent } from './schemas/memory.ts';
export type { Plugin } from './schemas/plugins.ts';
export type { Queue } from './schemas/queues.ts';
export type { BuilderRun, BuilderRunProgress, ReviewedBuilderRun } from './schemas/revisions.ts';
export type { PlatformRubric, Rubric } from './schemas/rubrics.ts';
export type {
  BrowserSessionPage,
  HumanQuestion,
  HumanRequest,
  RecordedHumanRequest,
  Run,
  RunDetail,
  RunFileDownload,
  RunListItem,
  RunMessage,
  WorkflowExecutionReport,
} from './schemas/runs.ts';
export type {
  ChangedFile,
  RunChanges,
  RunRepository,
  SandboxFileContent,
  SandboxFileEntry,
  ScreenshotToolExecution,
  StagedFile,
} from './schemas/sandboxes.ts';
export type { Schedule } from './schemas/schedules.ts';
export type { AgentSecret } from './schemas/secrets.ts';
export type { Team } from './schemas/teams.ts';
export type { CaseTrigger, QueueConsumer, QueueProducer } from './schemas/triggers.ts';
export type { Webhook, WebhookAttempt, WebhookDelivery, WebhookDeliveryDetail, WebhookSecret } from './schemas/webhooks.ts';
export type { DeliveryStatus, WebhookEventKind, WebhookFormat } from './webhook-events.ts';
