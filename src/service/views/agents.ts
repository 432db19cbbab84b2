/** Agents and revisions, as the interface returns them. */
import type { Agent, AgentListItem, Build, IntegrationConfig, RevisionConfig } from '../../interface/types.ts';
import type { ListedSchedule } from '../store/agents/schedules.ts';
import type { CaseTriggerSummary } from '../store/cases/case-triggers.ts';
import type { AgentRow, BuildRow, ConnectionRow, Flag } from '../store/database/schema.ts';
import { scheduleView } from './schedules.ts';

const yesOrNo = (flag: Flag | null): boolean | null => (flag === null ? null : flag === 1);

export const agentView = (row: AgentRow): Agent => ({
  id: row.id,
  name: row.name,
  slack_enabled: yesOrNo(row.slack_enabled),
  microsoft_teams_enabled: yesOrNo(row.microsoft_teams_enabled),
  agentic_memory_enabled: yesOrNo(row.agentic_memory_enabled),
  team_id: row.team_id,
  thread_id: row.thread_id,
  folder_id: null,
  automation_id: row.automation_id,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

/** An agent, as lists return it. The newest revision is the latest one, whether or not it is live. */
export const agentListItem = (
  row: AgentRow,
  relatedRows: {
    latestBuild: BuildRow | undefined;
    lastRunAt: string | undefined;
    caseTrigger: CaseTriggerSummary | undefined;
    /** The connections that the latest revision refers to. */
    connections: readonly ConnectionRow[];
    schedules?: readonly ListedSchedule[] | undefined;
  },
): AgentListItem => ({
  ...agentView(row),
  pinned_at: row.pinned_at,
  last_run_at: relatedRows.lastRunAt ?? null,
  latest_build:
    relatedRows.latestBuild === undefined
      ? null
      : {
          ...buildView(relatedRows.latestBuild, row.live_build_id),
          ...(relatedRows.schedules === undefined
            ? {}
            : { schedules: relatedRows.schedules.map((schedule) => scheduleView(schedule, row)) }),
        },
  integration_configs: relatedRows.connections.map(integrationConfig),
  user_triggers: { slack_mention: false, slack_channel: false, teams_mention: false },
  case_trigger_enabled: relatedRows.caseTrigger?.enabled ?? false,
  case_trigger_has_conflict: (relatedRows.caseTrigger?.conflicts.length ?? 0) > 0,
  case_trigger_conflicting_agents: relatedRows.caseTrigger?.conflicts ?? [],
  case_queue_name: relatedRows.caseTrigger?.queueName ?? null,
});

const integrationConfig = (row: ConnectionRow): IntegrationConfig => ({
  id: row.id,
  integration_id: row.id,
  integration_type: row.type,
  integration_name: row.name,
  created_at: row.created_at,
  is_connected: row.broken_at === null,
});

/** A configuration with all of its members: lists that were left out are null (interface, Build). */
function configView({ version, data }: RevisionConfig): RevisionConfig {
  const { files = null, skills = null, plugins = null, subAgents = null } = data;
  return { version, data: { ...data, files, skills, plugins, subAgents } };
}

/** A revision. Its status is `live`, `draft` until it is promoted, or `archived` when another one has replaced it. */
export const buildView = (row: BuildRow, liveBuildId: string | null): Build => ({
  id: row.id,
  // The interface has two names for the agent of a revision; here they are the same.
  copilot_id: row.agent_id,
  agent_id: row.agent_id,
  name: row.name,
  revision_name: row.revision_name,
  revision_description: row.revision_description,
  config: row.config === null ? null : configView(JSON.parse(row.config) as RevisionConfig),
  status: row.id === liveBuildId ? 'live' : row.promoted_at === null ? 'draft' : 'archived',
  revision_number: row.revision_number,
  parent_build_id: row.parent_build_id,
  created_by: null,
  created_by_name: null,
  created_at: row.created_at,
  updated_at: row.updated_at,
});
