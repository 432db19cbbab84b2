/** Agents. Their revisions are in revisions.ts. */

import { abortBuilders, removeBuilderRuns } from '../engine/agents/builder-runs.ts';
import { removeSchedules } from '../engine/agents/schedules.ts';
import { namedConnections } from '../engine/connections/named-connections.ts';
import { caseTriggerSummaries, leaveQueues } from '../engine/dispatch/triggers.ts';
import { abortDrivers, interruptRuns } from '../engine/runs/lifecycle.ts';
import { publishedEvent } from '../engine/webhooks/build-events.ts';
import { recordEvents } from '../engine/webhooks/events.ts';
import { ServiceError } from '../errors.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { newId } from '../ids.ts';
import { requireRoomForAgent } from '../plans/plan-limits.ts';
import { lockTeam } from '../store/access/teams.ts';
import { deleteAgentSecrets } from '../store/agents/agent-secrets.ts';
import { findAgentNamed, insertAgent, lastRunTimes, listAgentRows, updateAgentRow } from '../store/agents/agents.ts';
import { insertBuild, latestBuildSizes, latestBuilds } from '../store/agents/builds.ts';
import { deleteMemoryFiles } from '../store/agents/memory-files.ts';
import { schedulesOf } from '../store/agents/schedules.ts';
import type { Queries } from '../store/database/database.ts';
import { fittingCount } from '../store/database/page-bytes.ts';
import { lockRows } from '../store/database/row-locks.ts';
import type { AgentRow, BuildRow, Flag } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';
import { activeRunIds } from '../store/runs/runs.ts';
import { agentListItem, agentView, buildView } from '../views/agents.ts';
import { checkedConfig, revisionRoutes } from './revisions.ts';
import { requireAgent, requireBuild, requireTeam } from './shared/lookups.ts';

const flag = (value: boolean): Flag => (value ? 1 : 0);

async function requireFreeName(context: RequestContext, db: Queries, text: string, ownId?: string): Promise<string> {
  const name = text.trim();
  if (name === '')
    throw new ServiceError(400, 'invalid_request', 'name must not be empty.', {
      details: [{ path: 'name', message: 'must not be empty' }],
    });
  const holder = await findAgentNamed(db, context.teamId, name);
  if (holder !== undefined && holder.id !== ownId) {
    throw new ServiceError(409, 'agent_name_taken', `There is already an agent named "${name}" (${holder.id}).`);
  }
  return name;
}

const inContext = (agent: AgentRow) => ({ agent: agentView(agent), user_context: { pinned_at: agent.pinned_at } });

export const agentRoutes: GroupRoutes<'agents'> = {
  ...revisionRoutes,

  async listAgents(context, { params, query }) {
    requireTeam(context, params.teamId);
    const { limit = 20, offset = 0, automation_id: automationId } = query;
    const { store } = context.engine;
    const { rows: allRows, total } = await listAgentRows(store, { teamId: context.teamId, automationId, limit, offset });
    const sizes = await latestBuildSizes(
      store,
      allRows.map((row) => row.id),
    );
    const rows = allRows.slice(0, fittingCount(allRows.map((row) => sizes.get(row.id) ?? 0)));
    const ids = rows.map((row) => row.id);
    const [builds, lastRuns] = [await latestBuilds(store, ids), await lastRunTimes(store, ids)];
    const schedules = query.include_schedules === 'true' ? await schedulesOf(store, ids) : undefined;
    const triggers = await caseTriggerSummaries(store, ids);
    const latestConfigs = rows.map((row) => builds.get(row.id)?.config ?? null);
    const connections = await namedConnections(context.engine, store, context.teamId, latestConfigs);
    const agents = rows.map((row, index) =>
      agentListItem(row, {
        connections: connections[index] ?? [],
        latestBuild: builds.get(row.id),
        lastRunAt: lastRuns.get(row.id),
        caseTrigger: triggers.get(row.id),
        schedules: schedules?.get(row.id) ?? (schedules && []),
      }),
    );
    return { agents, total, limit, offset };
  },

  async createAgent(context, { params, body }) {
    requireTeam(context, params.teamId);
    const now = isoTime(context.engine.clock.now());
    let shouldWake = false;
    const result = await context.engine.store.transaction().execute(async (trx) => {
      await lockTeam(trx, context.teamId);
      const name = await requireFreeName(context, trx, body.name);
      await requireRoomForAgent(trx, context.teamId);
      const source = body.source_build_id ? await requireBuild(context, trx, body.source_build_id) : undefined;
      const config = body.build === undefined ? (source?.config ?? null) : checkedConfig(context, body.build.config);
      const agent = await insertAgent(trx, {
        id: newId(),
        team_id: context.teamId,
        name,
        name_folded: name.toLowerCase(),
        slack_enabled: 0,
        microsoft_teams_enabled: 0,
        agentic_memory_enabled: null,
        thread_id: body.thread_id ?? null,
        automation_id: body.automation_id ?? null,
        live_build_id: null,
        pinned_at: null,
        created_at: now,
        updated_at: now,
        deleted_at: null,
      });
      if (config === null) return { agent: agentView(agent) };
      const build = await firstBuild(trx, agent, { name: body.build?.name ?? source?.name ?? name, config, source }, now);
      shouldWake = await recordEvents(context.engine.clock, trx, { teamId: agent.team_id }, [publishedEvent(agent, build)]);
      return { agent: agentView(agent), build: buildView(build, build.id) };
    });
    if (shouldWake) context.engine.worker.wake();
    return result;
  },

  async getAgent(context, { params }) {
    return inContext(await requireAgent(context, context.engine.store, params.agent_id));
  },

  async updateAgent(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      const name = body.name === undefined ? agent.name : await requireFreeName(context, trx, body.name, agent.id);
      const updatedRow = await updateAgentRow(trx, agent.id, {
        name,
        name_folded: name.toLowerCase(),
        slack_enabled: body.slack_enabled === undefined ? agent.slack_enabled : flag(body.slack_enabled),
        microsoft_teams_enabled:
          body.microsoft_teams_enabled === undefined ? agent.microsoft_teams_enabled : flag(body.microsoft_teams_enabled),
        agentic_memory_enabled:
          body.agentic_memory_enabled === undefined ? agent.agentic_memory_enabled : flag(body.agentic_memory_enabled),
        thread_id: body.thread_id === undefined ? agent.thread_id : body.thread_id,
        pinned_at: body.pinned === undefined ? agent.pinned_at : body.pinned ? (agent.pinned_at ?? now) : null,
        updated_at: now,
      });
      return inContext(updatedRow);
    });
  },

  async deleteAgent(context, { params }) {
    const now = isoTime(context.engine.clock.now());
    const interruptions = await context.engine.store.transaction().execute(async (trx) => {
      // In the order of row-locks.ts: the team, so that no run is started or continued, and then the runs.
      await lockTeam(trx, context.teamId);
      const runIds = await activeRunIds(trx, { teamId: context.teamId, agentId: params.agent_id });
      await lockRows(trx, 'runs', runIds);
      const agent = await requireAgent(context, trx, params.agent_id);
      await updateAgentRow(trx, agent.id, { deleted_at: now, updated_at: now });
      await removeSchedules(trx, agent.id);
      await leaveQueues(context.engine, trx, agent.id);
      await deleteMemoryFiles(trx, agent.id);
      await deleteAgentSecrets(trx, agent.id);
      await interruptRuns(context.engine, trx, runIds);
      return { runs: runIds, builders: await removeBuilderRuns(trx, agent.id) };
    });
    abortDrivers(context.engine, interruptions.runs);
    abortBuilders(context.engine, interruptions.builders);
    return { success: true };
  },
};

/** The first revision of an agent goes live immediately. */
async function firstBuild(
  trx: Queries,
  agent: AgentRow,
  { name, config, source }: { name: string; config: string; source: BuildRow | undefined },
  now: string,
): Promise<BuildRow> {
  const build = await insertBuild(trx, {
    id: newId(),
    agent_id: agent.id,
    name,
    revision_name: null,
    revision_description: null,
    config,
    handover_target_ids: source?.handover_target_ids ?? null,
    parent_build_id: source?.id ?? null,
    promoted_at: now,
    created_at: now,
    updated_at: now,
  });
  await updateAgentRow(trx, agent.id, { live_build_id: build.id });
  return build;
}
