import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { agentOperations } from '../operations/agents.ts';
import { DateTime, Extended, FreeForm, Named, Nullable, paging, Uuid, Words } from './common.ts';
import { Schedule } from './schedules.ts';

const Person = Named('Person', { id: Type.String(), name: Nullable(Type.String()), email: Nullable(Type.String()) });

export const Agent = Named('Agent', {
  id: Uuid,
  name: Type.String(),
  slack_enabled: Nullable(Type.Boolean()),
  microsoft_teams_enabled: Nullable(Type.Boolean()),
  agentic_memory_enabled: Nullable(Type.Boolean()),
  team_id: Nullable(Type.String()),
  thread_id: Nullable(Type.String()),
  folder_id: Type.Optional(Nullable(Type.String())),
  automation_id: Type.Optional(Nullable(Uuid)),
  created_at: Nullable(DateTime),
  updated_at: Nullable(DateTime),
  created_by: Type.Optional(Nullable(Person)),
  updated_by: Type.Optional(Nullable(Person)),
});
export type Agent = Static<typeof Agent>;

const InputContent = Type.Union([
  Type.String(),
  Type.Array(
    Type.Union([
      Type.Object({ type: Type.Literal('input_text'), text: Type.String() }),
      Type.Object({
        type: Type.Literal('input_image'),
        detail: Type.Optional(Nullable(Words(['low', 'high', 'auto']))),
        file_id: Type.Optional(Nullable(Type.String())),
        url: Type.Optional(Nullable(Type.String())),
      }),
      Type.Object({ type: Type.Literal('input_file'), file_id: Type.String() }),
    ]),
  ),
]);

/** The procedure: plain text, or messages. For the script runtime it is the YAML text of the procedure. */
const RevisionInput = Type.Union(
  [
    Type.String(),
    Type.Array(
      Type.Object({
        role: Words(['system', 'user', 'assistant']),
        content: InputContent,
        type: Type.Optional(Nullable(Type.Literal('message'))),
      }),
    ),
  ],
  { $id: 'RevisionInput' },
);

const strings = Type.Optional(Nullable(Type.Array(Type.String())));

/** What an agent runs with. `models.agent.model` names the runtime of the local service (`script`) or a model. */
export const RevisionConfig = Named('RevisionConfig', {
  version: Type.Literal('v2'),
  data: Type.Object({
    models: Type.Object({
      agent: Type.Object({ model: Type.String({ minLength: 1 }) }),
      browsing: Type.Object({ provider: Words(['google', 'anthropic']), model: Type.String() }),
    }),
    input: RevisionInput,
    files: strings,
    skills: strings,
    plugins: strings,
    subAgents: Type.Optional(Nullable(Type.Array(Uuid))),
    options: Type.Optional(
      Type.Object({
        browserProvider: Type.Optional(Words(['browserbase', 'browser-use'])),
        evaluationSchemaId: Type.Optional(Type.String()),
        benchmarkExpectedOutcomes: Type.Optional(Type.Array(Type.Object({ description: Type.String(), criteria: Type.String() }))),
      }),
    ),
  }),
});
export type RevisionConfig = Static<typeof RevisionConfig>;

/** A revision of an agent; the interface's field names call it a build. */
export const Build = Named('Build', {
  id: Uuid,
  copilot_id: Uuid,
  agent_id: Uuid,
  name: Type.String(),
  revision_name: Type.Optional(Nullable(Type.String())),
  revision_description: Type.Optional(Nullable(Type.String())),
  /** Readers accept configurations of other versions unchanged. */
  config: Nullable(FreeForm),
  status: Nullable(Type.String()),
  revision_number: Nullable(Type.Number()),
  parent_build_id: Nullable(Type.String()),
  created_by: Nullable(Type.String()),
  created_by_name: Type.Optional(Nullable(Type.String())),
  created_at: Nullable(DateTime),
  updated_at: Nullable(DateTime),
  /** The schedules of the agent, if the list was requested with them. */
  schedules: Type.Optional(Type.Array(Schedule)),
});
export type Build = Static<typeof Build>;

/** A connection that the newest revision of an agent names. */
export const IntegrationConfig = Named('IntegrationConfig', {
  id: Type.String(),
  integration_id: Type.String(),
  integration_type: Type.String(),
  integration_name: Type.String(),
  created_at: DateTime,
  icon_url: Type.Optional(Nullable(Type.String())),
  is_connected: Type.Optional(Type.Boolean()),
  linked_queue_names: Type.Optional(Nullable(Type.Array(Type.String()))),
});
export type IntegrationConfig = Static<typeof IntegrationConfig>;

export const AgentListItem = Extended('AgentListItem', Agent, {
  pinned_at: Nullable(DateTime),
  last_run_at: Nullable(DateTime),
  latest_build: Nullable(Build),
  integration_configs: Type.Array(IntegrationConfig),
  user_triggers: Type.Object({ slack_mention: Type.Boolean(), slack_channel: Type.Boolean(), teams_mention: Type.Boolean() }),
  case_trigger_enabled: Type.Boolean(),
  case_trigger_has_conflict: Type.Boolean(),
  case_trigger_conflicting_agents: Type.Array(Type.Object({ id: Uuid, name: Type.String() })),
  case_queue_name: Nullable(Type.String()),
});
export type AgentListItem = Static<typeof AgentListItem>;

const AgentInContext = Named('AgentInContext', { agent: Agent, user_context: Type.Object({ pinned_at: Nullable(DateTime) }) });

const RevisionName = Type.String({ minLength: 1, maxLength: 80 });
const RevisionDescription = Nullable(Type.String({ maxLength: 500 }));

export const agentSchemas = {
  listAgents: {
    query: Type.Object({
      ...paging(100, 20),
      include_schedules: Type.Optional(Words(['true', 'false'], { default: 'false' })),
      automation_id: Type.Optional(Uuid),
    }),
    response: Type.Object({ agents: Type.Array(AgentListItem), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() }),
  },
  createAgent: {
    body: Type.Object({
      name: Type.String({ minLength: 1 }),
      thread_id: Type.Optional(Nullable(Uuid)),
      source_build_id: Type.Optional(Nullable(Uuid)),
      automation_id: Type.Optional(Nullable(Uuid)),
      build: Type.Optional(Type.Object({ name: Type.String({ minLength: 1 }), config: RevisionConfig })),
    }),
    response: Type.Object({ agent: Agent, build: Type.Optional(Build) }),
  },
  getAgent: { response: AgentInContext },
  updateAgent: {
    body: Type.Object({
      name: Type.Optional(Type.String({ minLength: 1 })),
      slack_enabled: Type.Optional(Type.Boolean()),
      microsoft_teams_enabled: Type.Optional(Type.Boolean()),
      agentic_memory_enabled: Type.Optional(Type.Boolean()),
      thread_id: Type.Optional(Nullable(Uuid)),
      pinned: Type.Optional(Type.Boolean()),
    }),
    response: AgentInContext,
  },
  deleteAgent: { response: Type.Object({ success: Type.Boolean() }) },
  listAgentRevisions: {
    query: Type.Object(paging(100, 20)),
    response: Type.Object({ builds: Type.Array(Build), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() }),
  },
  createRevision: {
    body: Type.Object({
      name: Type.String({ minLength: 1 }),
      config: Type.Optional(RevisionConfig),
      handover_target_ids: Type.Optional(Type.Array(Uuid)),
      source_build_id: Type.Optional(Uuid),
    }),
    response: Type.Object({ build: Build, agent: Type.Object({ id: Uuid }) }),
  },
  getRevision: { response: Type.Object({ build: Build }) },
  updateRevision: {
    body: Type.Object({
      config: Type.Optional(RevisionConfig),
      handoverTargetIds: Type.Optional(Type.Array(Uuid)),
      revision_name: Type.Optional(Nullable(RevisionName)),
      revision_description: Type.Optional(RevisionDescription),
    }),
    response: Type.Object({ build: Build }),
  },
  promoteRevision: {
    body: Type.Object({ revision_name: Type.Optional(RevisionName), revision_description: Type.Optional(RevisionDescription) }),
    optionalBody: true,
    response: Type.Object({ success: Type.Boolean() }),
  },
} as const satisfies Record<keyof typeof agentOperations, OperationSchemas>;
