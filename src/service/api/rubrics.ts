/** Evaluation rubrics of agents. */
import type { PlatformRubric, Rubric } from '../../interface/types.ts';
import { createRubric, replaceRubrics, updateRubric } from '../engine/agents/rubrics.ts';
import { notFound } from '../errors.ts';
import { readDemand } from '../evaluation/language.ts';
import { platformRubrics } from '../evaluation/platform.ts';
import { checkInWords } from '../evaluation/words.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { findRubric, listRubrics, type RubricScope, updateRubricRow } from '../store/agents/rubrics.ts';
import type { Queries } from '../store/database/database.ts';
import type { RubricRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';
import { requireAgent, requireBuild } from './shared/lookups.ts';

export const rubricRoutes: GroupRoutes<'rubrics'> = {
  async getEvalRubrics(context, { params, query }) {
    const { store } = context.engine;
    const scope = await requireScope(context, store, params.agentId, query.build_id);
    return rubricLists(await listRubrics(store, scope));
  },

  async createEvalRubric(context, { params, body }) {
    const { store, clock } = context.engine;
    const { title, description, build_id: buildId } = body;
    return store.transaction().execute(async (trx) => {
      const scope = await requireScope(context, trx, params.agentId, buildId);
      return { rubric: rubricView(await createRubric(trx, scope, { title, description }, isoTime(clock.now()))) };
    });
  },

  async replaceEvalRubrics(context, { params, body }) {
    const { store, clock } = context.engine;
    return store.transaction().execute(async (trx) => {
      const scope = await requireScope(context, trx, params.agentId, body.build_id);
      const drafts = body.rubrics.map(({ title, description }) => ({ title, description }));
      return rubricLists(await replaceRubrics(trx, scope, drafts, isoTime(clock.now())));
    });
  },

  async updateEvalRubric(context, { params, body }) {
    const { store, clock } = context.engine;
    return store.transaction().execute(async (trx) => {
      const rubric = await requireRubric(context, trx, params);
      return { rubric: rubricView(await updateRubric(trx, rubric, body, isoTime(clock.now()))) };
    });
  },

  async deleteEvalRubric(context, { params }) {
    const { store, clock } = context.engine;
    return store.transaction().execute(async (trx) => {
      const now = isoTime(clock.now());
      await updateRubricRow(trx, (await requireRubric(context, trx, params)).id, { deleted_at: now, updated_at: now });
      return { success: true };
    });
  },
};

/** The rubrics of the whole agent, or of one of its revisions. Throws 404. */
async function requireScope(context: RequestContext, db: Queries, agentId: string, buildId: string | undefined): Promise<RubricScope> {
  const agent = await requireAgent(context, db, agentId);
  if (buildId === undefined) return { agentId: agent.id, buildId: '' };
  const build = await requireBuild(context, db, buildId);
  if (build.agent_id !== agent.id) throw notFound('revision', buildId);
  return { agentId: agent.id, buildId: build.id };
}

async function requireRubric(context: RequestContext, db: Queries, params: { agentId: string; rubricId: string }): Promise<RubricRow> {
  const agent = await requireAgent(context, db, params.agentId);
  const rubric = await findRubric(db, agent.id, params.rubricId);
  if (rubric === undefined) throw notFound('rubric', params.rubricId);
  return rubric;
}

function rubricView(row: RubricRow): Rubric {
  const { severity, checks, unclearClauses } = readDemand(row.description);
  const { id, slug, title, description, sort_order, deleted_at } = row;
  return { id, slug, title, description, sort_order, deleted_at, severity, checks: checks.map(checkInWords), unclear: unclearClauses };
}

const rubricLists = (rows: readonly RubricRow[]): { rubrics: Rubric[]; platform_rubrics: PlatformRubric[] } => ({
  rubrics: rows.map(rubricView),
  platform_rubrics: platformRubrics.map(({ key, label, description, cause }) => ({ key, label, description, cause })),
});
