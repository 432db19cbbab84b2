/** Revisions of agents. */

import type { RevisionConfig } from '../../interface/types.ts';
import { requireNoBuilderRun } from '../engine/agents/builder-runs.ts';
import { agentIsReady } from '../engine/dispatch/triggers.ts';
import { procedureOf } from '../engine/revision/procedure.ts';
import { publishedEvent } from '../engine/webhooks/build-events.ts';
import { recordEvents } from '../engine/webhooks/events.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { newId } from '../ids.ts';
import { lockTeam } from '../store/access/teams.ts';
import { updateAgentRow } from '../store/agents/agents.ts';
import { insertBuild, listBuildRows, updateBuildRow } from '../store/agents/builds.ts';
import { isoTime } from '../store/database/time.ts';
import { buildView } from '../views/agents.ts';
import { requireAgent, requireBuild } from './shared/lookups.ts';

/** A configuration as it is stored. Throws 400 `unknown_runtime` or `invalid_procedure`. */
export function checkedConfig(context: RequestContext, config: RevisionConfig): string {
  procedureOf(context.engine.runtimes, config);
  return JSON.stringify(config);
}

type RevisionOperation = 'listAgentRevisions' | 'createRevision' | 'getRevision' | 'updateRevision' | 'promoteRevision';

export const revisionRoutes: Pick<GroupRoutes<'agents'>, RevisionOperation> = {
  async listAgentRevisions(context, { params, query }) {
    const { limit = 20, offset = 0 } = query;
    const agent = await requireAgent(context, context.engine.store, params.agent_id);
    const { rows, total } = await listBuildRows(context.engine.store, agent.id, { limit, offset });
    return { builds: rows.map((row) => buildView(row, agent.live_build_id)), total, limit, offset };
  },

  async createRevision(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      // Missing fields are taken from another revision: the specified one, or the live one.
      const sourceId = body.source_build_id ?? agent.live_build_id ?? undefined;
      const source = sourceId === undefined ? undefined : await requireBuild(context, trx, sourceId);
      const build = await insertBuild(trx, {
        id: newId(),
        agent_id: agent.id,
        name: body.name,
        revision_name: null,
        revision_description: null,
        config: body.config === undefined ? (source?.config ?? null) : checkedConfig(context, body.config),
        handover_target_ids:
          body.handover_target_ids === undefined ? (source?.handover_target_ids ?? null) : JSON.stringify(body.handover_target_ids),
        parent_build_id: source?.id ?? null,
        promoted_at: null,
        created_at: now,
        updated_at: now,
      });
      return { build: buildView(build, agent.live_build_id), agent: { id: agent.id } };
    });
  },

  async getRevision(context, { params }) {
    const agent = await requireAgent(context, context.engine.store, params.agent_id);
    const build = await requireBuild(context, context.engine.store, params.build_id);
    if (build.agent_id !== agent.id) throw notFound('revision', params.build_id);
    return { build: buildView(build, agent.live_build_id) };
  },

  async updateRevision(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    return context.engine.store.transaction().execute(async (trx) => {
      const build = await requireBuild(context, trx, params.build_id);
      const agent = await requireAgent(context, trx, build.agent_id);
      if (body.config !== undefined) await requireNoBuilderRun(trx, build.id);
      const updatedRow = await updateBuildRow(trx, build.id, {
        config: body.config === undefined ? build.config : checkedConfig(context, body.config),
        handover_target_ids: body.handoverTargetIds === undefined ? build.handover_target_ids : JSON.stringify(body.handoverTargetIds),
        revision_name: body.revision_name === undefined ? build.revision_name : body.revision_name,
        revision_description: body.revision_description === undefined ? build.revision_description : body.revision_description,
        updated_at: now,
      });
      return { build: buildView(updatedRow, agent.live_build_id) };
    });
  },

  async promoteRevision(context, { params, body }) {
    const now = isoTime(context.engine.clock.now());
    await context.engine.store.transaction().execute(async (trx) => {
      // The team first, like everybody who starts runs.
      await lockTeam(trx, context.teamId);
      const build = await requireBuild(context, trx, params.build_id);
      const agent = await requireAgent(context, trx, build.agent_id);
      if (agent.live_build_id === build.id) throw new ServiceError(409, 'revision_already_live', 'This revision is already live.');
      await requireNoBuilderRun(trx, build.id);
      if (build.config === null)
        throw new ServiceError(409, 'revision_has_no_procedure', 'This revision has no configuration yet; update it with one first.');
      // It might have been written for a service with other runtimes.
      checkedConfig(context, JSON.parse(build.config) as RevisionConfig);
      const live = await updateBuildRow(trx, build.id, {
        revision_name: body.revision_name ?? build.revision_name,
        revision_description: body.revision_description === undefined ? build.revision_description : body.revision_description,
        promoted_at: now,
        updated_at: now,
      });
      await updateAgentRow(trx, agent.id, { live_build_id: build.id, updated_at: now });
      await agentIsReady(context.engine, trx, agent.id);
      await recordEvents(context.engine.clock, trx, { teamId: agent.team_id }, [publishedEvent(agent, live)]);
    });
    context.engine.worker.wake();
    return { success: true };
  },
};
