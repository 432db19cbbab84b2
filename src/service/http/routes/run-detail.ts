/** What the engine recorded of a run: its detail, the execution report, and its files. */
import type { RunDetail, WorkflowExecutionReport } from '../../../interface/types.ts';
import { notFound } from '../../errors.ts';
import { procedureText } from '../../store/builds.ts';
import type { Queries } from '../../store/database.ts';
import { countRequests } from '../../store/human-requests.ts';
import { countCompletedSteps } from '../../store/journal.ts';
import { countMessages, listMessageRows, turnFigures } from '../../store/messages.ts';
import { findRunFile, hasRunFiles, listRunFiles } from '../../store/run-files.ts';
import { findRun, isTerminal } from '../../store/runs.ts';
import type { RunFileRow, RunRow } from '../../store/schema.ts';
import { fileUrl, type GroupRoutes, type RequestContext } from '../context.ts';
import { requireRun } from '../lookups.ts';
import { messageView, runFields } from '../views/runs.ts';

/** Messages that the detail carries; the rest is in the message list. */
const conversationLength = 50;

type DetailOperation = 'getRunDetail' | 'getWorkflowExecutionReport' | 'listBrowserSessionPages' | 'downloadRunFile';

export const runDetailRoutes: Pick<GroupRoutes<'runs'>, DetailOperation> = {
  async getRunDetail(context, { params }) {
    return runDetail(context.engine.store, await requireRun(context, params.runId, params.agentId));
  },

  async getWorkflowExecutionReport(context, { params }) {
    return executionReport(context, await requireRun(context, params.runId, params.agentId));
  },

  async listBrowserSessionPages(context, { params }) {
    const files = await sessionFiles(context, params.session_id);
    return { pages: visitedPages(files).map(({ url, title, file }) => ({ url, title, screenshot_url: fileUrl(context, file).url })) };
  },

  async downloadRunFile(context, { params }) {
    const run = await requireRun(context, params.run_id);
    const file = await findRunFile(context.engine.store, run.id, params.file_id);
    if (file === undefined) throw notFound('run file', params.file_id);
    const { url, expiresAt } = fileUrl(context, file);
    return {
      file_id: file.id,
      name: file.name,
      mime_type: file.mime_type,
      size: Number(file.size),
      created_at: file.created_at,
      download_url: url,
      expires_at: expiresAt,
    };
  },
};

async function runDetail(db: Queries, run: RunRow): Promise<RunDetail> {
  const total = await countMessages(db, run.id);
  const rows = await listMessageRows(db, run.id, { limit: conversationLength, offset: Math.max(0, total - conversationLength) });
  // What a run did in a browser is kept under the run's own id.
  const sessionId = (await hasRunFiles(db, run.id)) ? run.id : null;
  return {
    ...runFields(run),
    run_number: run.run_number,
    submitted_prompt_count: run.submitted_prompt_count,
    resume_count: run.resume_count,
    // The latest messages, oldest first.
    conversation: rows.map(messageView),
    conversationPagination: { total, included: rows.length, hasMore: rows.length < total },
    integrationInstances: [],
    handover: null,
    eval_summaries: {},
    bb_session_id: sessionId,
    computer_session_id: null,
    computer_use_slug: null,
    last_session_id: sessionId,
  };
}

/** Every figure is of the run's latest turn. */
async function executionReport({ engine }: RequestContext, run: RunRow): Promise<WorkflowExecutionReport> {
  const { store } = engine;
  const { calls, results, errors } = await turnFigures(store, run.id, run.turn);
  const runtime = engine.runtimes.get(run.runtime);
  const executedSteps = await countCompletedSteps(store, run.id, run.turn);
  // Steps that the procedure has. A runtime without a fixed procedure counts none, and its steps are known once executed.
  const countedSteps = runtime?.countSteps(await procedureText(store, run.procedure_hash)) ?? 0;
  const totalSteps = countedSteps > 0 ? countedSteps : executedSteps;
  return {
    provider: run.runtime,
    // A procedure with steps is expected to be executed step by step.
    expectedProgrammatic: countedSteps > 0,
    totalSteps,
    // Steps in the journal.
    executedSteps,
    // Tool calls that were made, and those that came back.
    calls,
    executions: results,
    // Times the run asked a person.
    handoffs: await countRequests(store, run.id, run.turn),
    // Tool results with an error, and the failure of the run itself.
    errors: errors + (run.status === 'failed' ? 1 : 0),
    // Why it does not go on: how it ended, with its error, or that it waits.
    stopReasons:
      isTerminal(run.status) || run.status === 'waiting' ? [run.error === null ? run.status : `${run.status}: ${run.error}`] : [],
    reachedCompletion: run.status === 'completed',
    // Executed steps out of all; nothing to execute counts as nothing executed.
    programmaticExecutionRate: totalSteps === 0 || countedSteps === 0 ? 0 : Math.min(1, executedSteps / totalSteps),
  };
}

async function sessionFiles(context: RequestContext, sessionId: string): Promise<RunFileRow[]> {
  const run = await findRun(context.engine.store, context.teamId, sessionId);
  const files = run === undefined ? [] : await listRunFiles(context.engine.store, run.id);
  if (files.length === 0) throw notFound('browser session', sessionId);
  return files;
}

/** The pages that screenshots were taken of, each with its latest one, in the order of the first visit. */
function visitedPages(files: RunFileRow[]): { url: string; title: string | null; file: RunFileRow }[] {
  const pages = new Map<string, { url: string; title: string | null; file: RunFileRow }>();
  for (const file of files) {
    const { url, title } = (file.input === null ? {} : JSON.parse(file.input)) as { url?: unknown; title?: unknown };
    if (typeof url === 'string') pages.set(url, { url, title: typeof title === 'string' ? title : null, file });
  }
  return [...pages.values()];
}
