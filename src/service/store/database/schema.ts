/**
 * The tables, as types. Column types are those that SQLite and Postgres share: instants that the interface shows are ISO 8601
 * text, instants that are only compared are integer milliseconds since the epoch, JSON is text, and booleans are 1 and 0.
 *
 * The tables of each group are in a separate file; all code imports them from here.
 */
import type { AccessTables } from './tables/access.ts';
import type { AgentsTables } from './tables/agents.ts';
import type { ArtifactsTables } from './tables/artifacts.ts';
import type { BuilderRunsTables } from './tables/builder-runs.ts';
import type { CasesTables } from './tables/cases.ts';
import type { ConnectionsTables } from './tables/connections.ts';
import type { EvaluationTables } from './tables/evaluation.ts';
import type { FilesTables } from './tables/files.ts';
import type { JobsTables } from './tables/jobs.ts';
import type { NodesTables } from './tables/nodes.ts';
import type { PushTables } from './tables/push.ts';
import type { RunsTables } from './tables/runs.ts';
import type { TeamsTables } from './tables/teams.ts';
import type { WebhooksTables } from './tables/webhooks.ts';

export type * from './tables/access.ts';
export type * from './tables/agents.ts';
export type * from './tables/artifacts.ts';
export type * from './tables/builder-runs.ts';
export type * from './tables/cases.ts';
export type * from './tables/columns.ts';
export type * from './tables/connections.ts';
export type * from './tables/evaluation.ts';
export type * from './tables/files.ts';
export type * from './tables/jobs.ts';
export type * from './tables/nodes.ts';
export type * from './tables/push.ts';
export type * from './tables/runs.ts';
export type * from './tables/teams.ts';
export type * from './tables/webhooks.ts';

export interface Database
  extends TeamsTables,
    AccessTables,
    AgentsTables,
    RunsTables,
    BuilderRunsTables,
    EvaluationTables,
    FilesTables,
    JobsTables,
    NodesTables,
    WebhooksTables,
    PushTables,
    CasesTables,
    ConnectionsTables,
    ArtifactsTables {}
