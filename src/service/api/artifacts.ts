/** Artifacts: pages that are generated from messages, their revisions, and exports. */
import type { PageContent } from '../artifacts/content.ts';
import { renderPage } from '../artifacts/render/render.ts';
import { isCreator, mayEdit, requireArtifact } from '../engine/artifacts/access.ts';
import {
  currentRevision,
  deleteArtifact,
  duplicateArtifact,
  publishArtifact,
  restoreRevision,
  updateArtifact,
} from '../engine/artifacts/changes.ts';
import { attachConnection, detachConnection } from '../engine/artifacts/connections.ts';
import { answerQuestion, createArtifact, messageArtifact, refreshArtifact, stopArtifact } from '../engine/artifacts/generation.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { htmlExport, htmlPage, pdfExport } from '../http/pages.ts';
import { listArtifactConnectionRows } from '../store/artifacts/artifact-connections.ts';
import { findArtifactMessage, listArtifactMessageRows } from '../store/artifacts/artifact-messages.ts';
import { findArtifactRevision, listArtifactRevisionRows } from '../store/artifacts/artifact-revisions.ts';
import { listArtifactRows } from '../store/artifacts/artifacts.ts';
import { artifactMessageView, artifactRevisionView, artifactView } from '../views/artifacts.ts';

export const artifactRoutes: GroupRoutes<'artifacts'> = {
  async listArtifacts(context, { query }) {
    const { limit = 20, offset = 0, scope } = query;
    const filter = { teamId: context.teamId, userId: context.credentialId, seesAll: context.isOwner, scope };
    const { rows, total } = await listArtifactRows(context.engine.store, filter, { limit, offset });
    return { artifacts: rows.map(artifactView), total, limit, offset };
  },

  async createArtifact(context, { body }) {
    const { artifact, message } = await createArtifact(context.engine, context, body.message, body.connection_ids);
    return { artifact_id: artifact.id, user_message: artifactMessageView(message) };
  },

  async getArtifact(context, { params }) {
    const row = await requireArtifact(context.engine.store, context, params.artifactId);
    return { artifact: artifactView(row), is_creator: isCreator(context, row), can_edit: mayEdit(context, row) };
  },

  updateArtifact: async (context, { params, body }) => artifactView(await updateArtifact(context.engine, context, params.artifactId, body)),

  async deleteArtifact(context, { params }) {
    await deleteArtifact(context.engine, context, params.artifactId);
    return { success: true };
  },

  async answerArtifactQuestion(context, { params, body }) {
    await answerQuestion(context.engine, context, params.artifactId, body);
    return { ok: true };
  },

  async listArtifactConnections(context, { params }) {
    const artifact = await requireArtifact(context.engine.store, context, params.artifactId);
    const rows = await listArtifactConnectionRows(context.engine.store, artifact.id);
    return { connections: rows.map((row) => ({ ...row, integration_id: null, custom_integration_id: null })) };
  },

  async attachArtifactConnection(context, { params, body }) {
    await attachConnection(context.engine, context, params.artifactId, body.connection_id);
    return { success: true };
  },

  async detachArtifactConnection(context, { params }) {
    await detachConnection(context.engine, context, params.artifactId, params.connectionId);
    return { success: true };
  },

  duplicateArtifact: async (context, { params }) => artifactView(await duplicateArtifact(context.engine, context, params.artifactId)),

  async exportArtifactHtml(context, { params, query }) {
    const page = await currentPage(context, params.artifactId);
    return htmlExport(renderPage(page, query.theme), page.title);
  },

  async exportArtifactPdf(context, { params, query }) {
    const page = await currentPage(context, params.artifactId);
    const theme = query.theme ?? 'light';
    const { printPdf } = await import('../browser/print.ts');
    return pdfExport(await printPdf(context.engine.browsing, renderPage(page, theme), context.lifetime.signal), page.title);
  },

  async listArtifactMessages(context, { params, query }) {
    const { store } = context.engine;
    const artifact = await requireArtifact(store, context, params.artifactId);
    const before = query.before === undefined ? undefined : await findArtifactMessage(store, artifact.id, query.before);
    if (query.before !== undefined && before === undefined) throw notFound('message', query.before);
    const { rows, total, hasMore } = await listArtifactMessageRows(store, artifact.id, { limit: query.limit ?? 100, before: before?.seq });
    return { data: rows.map(artifactMessageView), total, has_more: hasMore };
  },

  async sendArtifactMessage(context, { params, body }) {
    return { user_message: artifactMessageView(await messageArtifact(context.engine, context, params.artifactId, body)) };
  },

  publishArtifact: async (context, { params, body }) =>
    artifactView(await publishArtifact(context.engine, context, params.artifactId, body)),

  refreshArtifact: async (context, { params }) => artifactView(await refreshArtifact(context.engine, context, params.artifactId)),

  async renderArtifact(context, { params }) {
    return htmlPage(renderPage(await currentPage(context, params.artifactId)));
  },

  async listArtifactRevisions(context, { params }) {
    const { store } = context.engine;
    const artifact = await requireArtifact(store, context, params.artifactId);
    const rows = await listArtifactRevisionRows(store, artifact.id);
    const current = rows.find(({ id }) => id === artifact.current_revision_id);
    return {
      revisions: rows.map(artifactRevisionView),
      total: rows.length,
      current_revision_id: current?.id ?? null,
      current_version: current?.version ?? null,
    };
  },

  async renderArtifactRevision(context, { params }) {
    const { store } = context.engine;
    const artifact = await requireArtifact(store, context, params.artifactId);
    const revision = await findArtifactRevision(store, artifact.id, params.revisionId);
    if (revision === undefined) throw notFound('revision', params.revisionId);
    return htmlPage(renderPage(JSON.parse(revision.content) as PageContent));
  },

  async restoreArtifactRevision(context, { params }) {
    const { id, version } = await restoreRevision(context.engine, context, params.artifactId, params.revisionId);
    return { success: true, current_revision_id: id, current_version: version };
  },

  stopArtifactMessage: async (context, { params, body }) => ({
    artifact: artifactView(await stopArtifact(context.engine, context, params.artifactId, body?.partial_text)),
  }),
};

/** The content of the artifact, under its current title. Throws 404 `artifact_not_found`, 404 `artifact_not_generated`. */
async function currentPage(context: RequestContext, id: string): Promise<PageContent> {
  const artifact = await requireArtifact(context.engine.store, context, id);
  const revision = await currentRevision(context.engine.store, artifact);
  if (revision === undefined) {
    throw new ServiceError(
      404,
      'artifact_not_generated',
      `This artifact has no page yet, because no generation has completed (it is ${artifact.status}).`,
    );
  }
  const content = JSON.parse(revision.content) as PageContent;
  return { ...content, title: artifact.title ?? content.title };
}
