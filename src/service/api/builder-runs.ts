/** Builder runs of revisions. */
import {
  acceptRevision,
  answerBuilderRun,
  declineRevision,
  discardRevision,
  generateRevision,
  latestOf,
} from '../engine/agents/builder-runs.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { findBuilderRun } from '../store/agents/builder-runs.ts';
import { builderRunView, progressView, reviewedView } from '../views/builder-runs.ts';

const revision = (context: RequestContext, params: { build_id: string }) => ({ teamId: context.teamId, buildId: params.build_id });

export const builderRoutes: GroupRoutes<'revisions'> = {
  async generateRevision(context, { params, body }) {
    if (body.prompt.trim() === '') {
      throw new ServiceError(400, 'invalid_request', 'prompt must not be empty.', {
        details: [{ path: 'prompt', message: 'must not be empty' }],
      });
    }
    const run = await generateRevision(context.engine, revision(context, params), body.prompt);
    return { generation: { status: 'generating', builder_run_id: run.id, build_id: run.build_id } };
  },

  getLatestBuilderRun: async (context, { params }) => builderRunView(await latestOf(context.engine.store, revision(context, params))),

  acceptRevision: async (context, { params, body }) => ({
    builder_run: reviewedView(await acceptRevision(context.engine, revision(context, params), body ?? {})),
  }),

  declineRevision: async (context, { params, body }) => ({
    builder_run: reviewedView(await declineRevision(context.engine, revision(context, params), body ?? {})),
  }),

  discardRevision: async (context, { params }) => ({
    builder_run: reviewedView(await discardRevision(context.engine, revision(context, params))),
  }),

  async getBuilderRunStatus(context, { params }) {
    const run = await findBuilderRun(context.engine.store, context.teamId, params.builder_run_id);
    if (run === undefined) throw notFound('builder run', params.builder_run_id);
    return progressView(run);
  },

  async answerBuilderRun(context, { params, body }) {
    const to = { teamId: context.teamId, builderRunId: params.builder_run_id };
    return { builder_run: reviewedView(await answerBuilderRun(context.engine, to, body)) };
  },
};
