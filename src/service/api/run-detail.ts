/** What the engine has recorded about a run: its detail, the execution report, and its files. */
import type { RunDetail, WorkflowExecutionReport } from '../../interface/types.ts';
import { notFound } from '../errors.ts';
import { fileUrl, type GroupRoutes, type RequestContext, runPictures } from '../http/context.ts';
import type { AgentSession } from '../runtimes/run-host.ts';
import { procedureText } from '../store/agents/builds.ts';
import { findEvaluation } from '../store/agents/evaluations.ts';
import { runConnections } from '../store/connections/connections.ts';
import type { Queries } from '../store/database/database.ts';
import type { RunRow, ToolExecutionRow } from '../store/database/schema.ts';
import { findAgentSession } from '../store/runs/agent-sessions.ts';
import { countRequests } from '../store/runs/human-requests.ts';
import { completedSteps } from '../store/runs/journal.ts';
import { latestMessageRows, turnFigures } from '../store/runs/messages.ts';
import { findRunFile } from '../store/runs/run-files.ts';
import { findRun, isTerminal } from '../store/runs/runs.ts';
import { hasToolExecutions, listToolExecutions } from '../store/runs/tool-executions.ts';
import { evaluationDetail } from '../views/evaluations.ts';
import { messageView, runFields } from '../views/runs.ts';
import { requireRun } from './shared/lookups.ts';

/** Messages in the detail, or fewer if they are large; the rest is in the message list. */
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
    const run = await findRun(context.engine.store, context.teamId, params.session_id);
    const executions = run === undefined ? [] : await listToolExecutions(context.engine.store, run.id);
    if (run === undefined || executions.length === 0) throw notFound('browser session', params.session_id);
    const pictures = await runPictures(context, run.id);
    return {
      pages: visitedPages(executions).map(({ url, title, picture }) => ({
        url,
        title,
        screenshot_url: picture === null ? null : (pictures.get(picture)?.signedUrl ?? null),
      })),
    };
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
  const { rows, total } = await latestMessageRows(db, run.id, conversationLength);
  // What a run did in a browser is stored under the ID of the run.
  const sessionId = (await hasToolExecutions(db, run.id)) ? run.id : null;
  return {
    ...runFields(run),
    run_number: run.run_number,
    submitted_prompt_count: run.submitted_prompt_count,
    resume_count: run.resume_count,
    // The latest messages, oldest first.
    conversation: rows.map(messageView),
    conversationPagination: { total, included: rows.length, hasMore: rows.length < total },
    // The connections that the run has used.
    integrationInstances: (await runConnections(db, run.id)).map(({ deleted_at, ...connection }) => ({
      ...connection,
      deleted: deleted_at !== null,
    })),
    handover: null,
    eval_summaries: evaluationDetail(await findEvaluation(db, run.id)),
    bb_session_id: sessionId,
    computer_session_id: null,
    computer_use_slug: null,
    last_session_id: sessionId,
    exec_level: run.exec_level,
    agent_session: sessionView(await findAgentSession(db, run.id)),
  };
}

function sessionView(session: AgentSession | undefined): RunDetail['agent_session'] {
  if (session === undefined) return null;
  const { name, version, mode, asks, usage } = session;
  const { contextTokens: context_tokens, contextSize: context_size, cost } = usage ?? {};
  return {
    ...{ name, version, mode, asks },
    usage: context_tokens === undefined || context_size === undefined ? null : { context_tokens, context_size, cost: cost ?? null },
  };
}

/** The report of a run. All figures are about its latest turn. */
async function executionReport({ engine }: RequestContext, run: RunRow): Promise<WorkflowExecutionReport> {
  const { store } = engine;
  const { calls, results, errors } = await turnFigures(store, run.id, run.turn);
  const runtime = engine.runtimes.get(run.runtime);
  const entries = [...(await completedSteps(store, run.id, run.turn)).keys()];
  const executedSteps = entries.filter((key) => runtime?.isPartOfStep?.(key) !== true).length;
  // The steps of the procedure. A runtime without a fixed procedure has none, and its steps are only known once they are executed.
  const countedSteps = runtime?.countSteps(await procedureText(store, run.procedure_hash)) ?? 0;
  const totalSteps = countedSteps > 0 ? countedSteps : executedSteps;
  return {
    provider: run.runtime,
    // A procedure with steps is expected to be executed step by step.
    expectedProgrammatic: countedSteps > 0,
    totalSteps,
    // Completed steps in the journal, without the entries that are parts of a step.
    executedSteps,
    // Tool calls, and those that returned.
    calls,
    executions: results,
    // How often the run asked a person.
    handoffs: await countRequests(store, run.id, run.turn),
    // Tool results with an error, plus the failure of the run itself.
    errors: errors + (run.status === 'failed' ? 1 : 0),
    // Why the run does not continue: how it ended, with its error, or that it is waiting.
    stopReasons:
      isTerminal(run.status) || run.status === 'waiting' ? [run.error === null ? run.status : `${run.status}: ${run.error}`] : [],
    reachedCompletion: run.status === 'completed',
    // The share of executed steps; 0 if there are no steps.
    programmaticExecutionRate: totalSteps === 0 || countedSteps === 0 ? 0 : Math.min(1, executedSteps / totalSteps),
  };
}

interface VisitedPage {
  url: string;
  title: string | null;
  /** ID of its latest picture. */
  picture: string | null;
}

/** The pages that tool calls visited, each with its latest picture, in the order of the first visit. */
function visitedPages(executions: readonly ToolExecutionRow[]): VisitedPage[] {
  const pages = new Map<string, VisitedPage>();
  for (const { input, after_file_id } of executions) {
    const { url, title } = (input === null ? {} : JSON.parse(input)) as { url?: unknown; title?: unknown };
    if (typeof url !== 'string') continue;
    const picture = after_file_id ?? pages.get(url)?.picture ?? null;
    pages.set(url, { url, title: typeof title === 'string' ? title : null, picture });
  }
  return [...pages.values()];
}
