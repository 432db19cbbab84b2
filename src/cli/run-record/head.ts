/** What a record contains in addition to its timeline, as an export and the other commands print it. */
import type { EvaluationSummary, HumanRequest } from '../../interface/types.ts';
import { agentProgram, procedureOf, runtimeOf } from '../records/revision.ts';
import type { RunRecord } from './read.ts';

export interface RecordHead {
  run: {
    id: string;
    number: number | null;
    title: string | null;
    status: string;
    source: string | null;
    created_at: string | null;
    started_at: string | null;
    completed_at: string | null;
    /** From the start to the end; null while it has not ended. */
    duration_milliseconds: number | null;
    error: string | null;
  };
  agent: { id: string; name: string | null } | null;
  revision: {
    id: string;
    number: number | null;
    name: string | null;
    status: string | null;
    runtime: string | null;
    procedure: string;
  } | null;
  /** The program that worked as the agent, as it describes itself. */
  program: { name: string; version: string; mode: string | null; asks: boolean | null; command: string[] | null } | null;
  usage: { context_tokens: number; context_size: number; cost: { amount: number; currency: string } | null } | null;
  /** How far the commands of the run were confined; null if it started none, or the service does not say. */
  containment: 'contained' | 'host' | null;
  case: { id: string; title: string | null; queue: string | null } | null;
  report: { steps: number; total_steps: number; calls: number; errors: number; human_requests: number } | null;
  evaluation: EvaluationSummary | null;
  pending_request: HumanRequest | null;
}

export async function recordHead(record: RunRecord): Promise<RecordHead> {
  const { run, listItem, agentName, revision, detail, report } = record;
  const session = detail?.agent_session ?? null;
  const program = await agentProgram(revision?.config);
  const summaries = detail?.eval_summaries as Partial<EvaluationSummary> | undefined;
  return {
    run: {
      id: run.id,
      number: run.run_number ?? null,
      title: listItem?.title || null,
      status: run.status,
      source: run.source,
      created_at: run.created_at,
      started_at: run.started_at,
      completed_at: run.completed_at,
      duration_milliseconds:
        run.started_at === null || run.completed_at === null ? null : Date.parse(run.completed_at) - Date.parse(run.started_at),
      error: run.error ?? null,
    },
    agent: run.agent_id === null ? null : { id: run.agent_id, name: agentName },
    revision:
      revision === undefined
        ? null
        : {
            id: revision.id,
            number: revision.revision_number,
            name: revision.revision_name ?? null,
            status: revision.status,
            runtime: runtimeOf(revision.config) ?? null,
            procedure: procedureOf(revision.config),
          },
    program:
      session === null
        ? null
        : { name: session.name, version: session.version, mode: session.mode, asks: session.asks, command: program?.command ?? null },
    usage: session?.usage ?? null,
    containment: detail?.exec_level ?? null,
    case: listItem?.case_queue_item_id
      ? { id: listItem.case_queue_item_id, title: listItem.case_title, queue: listItem.case_queue_name }
      : null,
    report:
      report === undefined
        ? null
        : {
            steps: report.executedSteps,
            total_steps: report.totalSteps,
            calls: report.calls,
            errors: report.errors,
            human_requests: report.handoffs,
          },
    evaluation: typeof summaries?.passed === 'number' && typeof summaries.total === 'number' ? (summaries as EvaluationSummary) : null,
    pending_request: run.pending_human_request,
  };
}
