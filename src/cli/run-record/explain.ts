/** Why a run ended as it did, what was different from the last good one, and what to do next. Pure: the same data gives the same result. */
import { formatDuration } from '../../base/duration.ts';
import { pluralize } from '../../base/pluralize.ts';
import { shellWord } from '../../base/shell.ts';
import { isObject } from '../../base/values.ts';
import { isActive } from '../../interface/run-status.ts';
import type { HumanRequest } from '../../interface/types.ts';
import { respondCommand } from '../following/requests.ts';
import { runTitle, runWord } from '../names/run-names.ts';
import type { ConfigChange } from '../records/config-changes.ts';
import {
  alignSteps,
  type ComparedRun,
  type FieldChange,
  fieldChanges,
  inputFields,
  revisionChanges,
  usageChanges,
  withoutKeys,
} from './compare.ts';
import { oneLine, type Step } from './digest.ts';

/** A step of a procedure, as the error of a run names it. */
export interface FailedStep {
  number: number;
  kind: string;
  /** In the procedure, from 1. */
  line: number;
  /** The text of that line; null if the procedure could not be read. */
  source: string | null;
}

export interface RunExplanation {
  run: {
    id: string;
    number: number | null;
    title: string | null;
    status: string;
    agent: string | null;
    duration_milliseconds: number | null;
  };
  outcome: 'failed' | 'interrupted' | 'waiting' | 'active' | 'completed';
  /** One sentence. */
  summary: string;
  failure: {
    error: string;
    step: FailedStep | null;
    /** The call in progress when the run failed, for example because the agent's process ended. */
    unfinished: Step | null;
    /** The last call of a tool that failed. */
    tool_error: Step | null;
    /** How many steps the run completed after it. */
    steps_after_tool_error: number;
  } | null;
  /** The call in progress, the one that waits for a permission, or the last one of a run that was interrupted. */
  current_step: Step | null;
  pending_request: HumanRequest | null;
  /** What else is known about a run of an agent program; null for a procedure, whose steps are known. */
  agent_program: {
    /** Its name and version; null if it did not start. */
    name: string | null;
    mode: string | null;
    /** The last text that it wrote, on one line. */
    last_text: string | null;
    /** What the service noted last, such as a new session. */
    notices: string[];
  } | null;
  failed_calls: number;
  failed_rubrics: { severity: string; title: string; comment: string | null }[];
  /** The last run of the agent that completed before this one. */
  compared_with: { id: string; number: number | null; status: string } | null;
  differences: FieldChange[];
  /** Where an agent program first did something else than in that run; null for a procedure, or if nothing is different. */
  divergence: { before: Step | null; after: Step | null } | null;
  procedure: { before: string; after: string };
  config: ConfigChange[];
  next: { command: string; text: string }[];
  gaps: string[];
}

/** @param goodRun the last run of the agent that completed before it, if there is one */
export function explainRun(run: ComparedRun, goodRun: ComparedRun | undefined): RunExplanation {
  const { head, digest, record } = run;
  const outcome = outcomeOf(head.run.status);
  const failedSteps = digest.steps.filter(({ kind, status }) => kind === 'tool' && status === 'failed');
  const toolError = failedSteps.at(-1);
  const lastStep = digest.steps.at(-1);
  const unfinished = digest.steps.findLast(({ status }) => status === 'unfinished');
  const explanation = {
    run: {
      id: head.run.id,
      number: head.run.number,
      title: head.run.title,
      status: head.run.status,
      agent: head.agent && (head.agent.name ?? head.agent.id),
      duration_milliseconds: head.run.duration_milliseconds,
    },
    outcome,
    failure:
      outcome !== 'failed'
        ? null
        : {
            error: head.run.error ?? 'The service does not report an error.',
            step: failedStep(head.run.error ?? '', head.revision?.procedure),
            unfinished: withoutKeys(unfinished),
            tool_error: withoutKeys(toolError),
            steps_after_tool_error: toolError === undefined ? 0 : digest.steps.length - toolError.number,
          },
    current_step: withoutKeys(
      outcome === 'active' || outcome === 'waiting' ? unfinished : outcome === 'interrupted' ? (unfinished ?? lastStep) : undefined,
    ),
    pending_request: outcome === 'waiting' ? head.pending_request : null,
    agent_program: agentOf(run),
    failed_calls: failedSteps.length,
    failed_rubrics: failedRubrics(head.evaluation, outcome),
    ...explainedDifferences(goodRun, run),
    gaps: record.gaps,
  };
  return { ...explanation, summary: summaryOf(explanation), next: nextSteps(explanation, run) };
}

const isProgram = ({ head }: ComparedRun): boolean => head.program !== null || head.revision?.runtime === 'acp';

function agentOf(run: ComparedRun): RunExplanation['agent_program'] {
  if (!isProgram(run)) return null;
  const { program } = run.head;
  const { lastText, notices } = run.digest;
  return {
    name: program === null ? null : `${program.name} ${program.version}`.trim(),
    mode: program?.mode ?? null,
    last_text: lastText === null ? null : oneLine(lastText),
    notices,
  };
}

function divergenceOf(goodRun: ComparedRun, run: ComparedRun): RunExplanation['divergence'] {
  if (!isProgram(run)) return null;
  const different = alignSteps(goodRun.digest.steps, run.digest.steps).find(({ change }) => change !== 'same');
  return different === undefined ? null : { before: different.before, after: different.after };
}

function outcomeOf(status: string): RunExplanation['outcome'] {
  if (status === 'failed' || status === 'interrupted' || status === 'waiting' || status === 'completed') return status;
  return 'active';
}

/** `Step 4 (exec, line 10)` at the beginning of an error of the script runtime. */
const stepPattern = /^Step (\d{1,6}) \((\w+), line (\d{1,6})\)/;

function failedStep(error: string, procedure: string | undefined): FailedStep | null {
  const match = stepPattern.exec(error);
  if (match === null) return null;
  const [, number, kind, line] = match as unknown as [string, string, string, string];
  return { number: Number(number), kind, line: Number(line), source: procedure?.split('\n')[Number(line) - 1]?.trim() ?? null };
}

/** The rubrics of the platform only repeat that a run failed. */
function failedRubrics(evaluation: unknown, outcome: RunExplanation['outcome']): RunExplanation['failed_rubrics'] {
  const results = isObject(evaluation) && Array.isArray(evaluation.results) ? (evaluation.results as unknown[]) : [];
  return results.filter(isObject).flatMap(({ kind, status, severity, title, comment }) => {
    if (status !== 'failed' || (kind === 'platform' && outcome === 'failed')) return [];
    return [{ severity: String(severity), title: String(title), comment: typeof comment === 'string' ? comment : null }];
  });
}

function explainedDifferences(goodRun: ComparedRun | undefined, run: ComparedRun) {
  if (goodRun === undefined)
    return { compared_with: null, differences: [], divergence: null, procedure: { before: '', after: '' }, config: [] };
  const { id, number, status } = goodRun.head.run;
  const inputs = fieldChanges(goodRun, run).filter(({ name }) => inputFields.includes(name));
  // The duration of a run that has not ended is not known.
  const usage = usageChanges(goodRun, run).filter(({ name, after }) => name !== 'duration_milliseconds' || after !== null);
  const divergence = divergenceOf(goodRun, run);
  return { compared_with: { id, number, status }, differences: [...inputs, ...usage], divergence, ...revisionChanges(goodRun, run) };
}

type ExplanationFacts = Omit<RunExplanation, 'summary' | 'next'>;

function summaryOf({ run, outcome, failure, current_step, pending_request, failed_calls, failed_rubrics }: ExplanationFacts): string {
  const name = `Run ${runTitle({ id: run.id, run_number: run.number })}`;
  const took = run.duration_milliseconds === null ? '' : ` after ${formatDuration(run.duration_milliseconds)}`;
  if (outcome === 'failed') return `${name} failed${took}${failure?.step ? ` in step ${failure.step.number} (${failure.step.kind})` : ''}.`;
  if (outcome === 'interrupted') return `${name} was interrupted${took}.`;
  if (outcome === 'waiting') return `${name} is waiting for an answer${pending_request === null ? '' : `: ${pending_request.title}`}`;
  if (outcome === 'active') return `${name} is ${run.status}${current_step === null ? '' : ', and a call is in progress'}.`;
  const problems = [
    ...(failed_rubrics.length > 0 ? [`${pluralize(failed_rubrics.length, 'rubric')} of its evaluation failed`] : []),
    ...(failed_calls > 0 ? [`${pluralize(failed_calls, 'tool call')} failed along the way`] : []),
  ];
  return problems.length === 0 ? `${name} completed${took}. Nothing failed.` : `${name} completed${took}, but ${problems.join(', and ')}.`;
}

function nextSteps(explanation: ExplanationFacts, { record, head }: ComparedRun): RunExplanation['next'] {
  const { outcome, run, compared_with: goodRun, pending_request: request, procedure, config } = explanation;
  const word = runWord({ id: run.id, run_number: run.number });
  const agent = head.agent === null ? undefined : shellWord(head.agent.name ?? head.agent.id);
  const next: RunExplanation['next'] = [];
  const add = (command: string, text: string): unknown => next.push({ command, text });
  if (request !== null) {
    add(respondCommand(word, request), 'Answer the request');
    if (request.type === 'approval') add(`aops runs respond ${word} --deny --reason TEXT`, 'Deny it');
  }
  if (outcome === 'active' || outcome === 'waiting') add(`aops runs watch ${word}`, 'Watch the run');
  if (outcome === 'interrupted') add(`aops runs send ${word} MESSAGE`, 'Continue it after its last completed step');
  if (outcome === 'failed') add(`aops runs messages ${word} --all`, 'Read everything that it did');
  if (goodRun !== null && outcome !== 'completed')
    add(
      `aops runs diff ${runWord({ id: goodRun.id, run_number: goodRun.number })} ${word}`,
      'Compare it with the last good run, step by step',
    );
  const isNewRevision = procedure.before !== procedure.after || config.length > 0;
  if (outcome === 'failed' && agent !== undefined) {
    if (isNewRevision && goodRun !== null) add(`aops revisions list ${agent}`, 'Find the earlier revision, to promote it again');
    add(
      `aops agents edit ${agent}`,
      explanation.agent_program === null ? 'Change the procedure' : 'Change its program, instructions, or permissions',
    );
    const caseId = record.listItem?.case_queue_item_id;
    if (caseId) add(`aops cases reprocess ${caseId}`, 'Work on its case again');
    else add(`aops runs rerun ${word}`, 'Start it again');
  }
  if (!isActive(run.status)) add(`aops runs export ${word}`, 'Write the record of the run to a file');
  return next;
}
