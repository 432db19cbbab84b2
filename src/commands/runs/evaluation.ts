import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, flag } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { retryThroughOutages } from '../../watch/polling.ts';
import { agentAndRun } from './agent-run.ts';
import { type Evaluation, evaluationSheet, severities } from './evaluation-sheet.ts';

export default defineCommand({
  summary: 'Show the evaluation of a finished run',
  description:
    'Each rubric of the agent and of the platform has passed, failed, or could not be decided. With --fail-on, the exit code is 1 if a rubric of this severity or worse failed, or if no rubric of the agent could be decided.',
  arguments: { run: runArgument },
  options: {
    wait: flag('Wait until the run has finished and is evaluated'),
    failOn: choice(severities, 'Exit with 1 if a rubric of this severity or worse failed', { metavar: 'SEVERITY' }),
  },
  operations: ['getRun', 'listRuns', 'getRunDetail'],
  exits: [exitCodes.failure],
  examples: [
    { command: 'aops runs evaluation @latest', text: 'Show the evaluation of the newest run' },
    { command: 'aops runs evaluation @latest --wait --fail-on medium', text: 'Check the evaluation in CI' },
  ],
  result: returns({
    status: 'ready|unavailable|in_progress',
    passed: 'integer',
    total: 'integer',
    final_comment: 'string?',
    severityCounts: { critical: 'integer', medium: 'integer', low: 'integer' },
    results: [
      {
        kind: 'rubric|platform',
        key: 'string',
        title: 'string',
        description: 'string',
        severity: 'critical|medium|low',
        status: 'passed|failed|undecided',
        comment: 'string|null',
      },
    ],
  }),
  output: documentOutput<Evaluation>(evaluationSheet),
  async run(context, input) {
    const find = (reading: Context) => agentAndRun(reading, input.run);
    const params = input.wait ? await readBeforeWatching(context, find) : await find(context);
    const evaluation = await readEvaluation(context, params, input.wait);
    const { failOn } = input;
    const counts = evaluation.severityCounts;
    const failedCount =
      failOn === undefined ? 0 : severities.slice(0, severities.indexOf(failOn) + 1).reduce((sum, word) => sum + (counts?.[word] ?? 0), 0);
    if (failOn !== undefined && evaluation.status === 'in_progress')
      throw new UsageError('The run has not been evaluated yet, so --fail-on cannot decide.', 'Wait for the evaluation with --wait.');
    if (failOn !== undefined && failedCount === 0 && evaluation.status === 'unavailable')
      throw new ResultError(undecidedError(), evaluation);
    if (failedCount === 0) return evaluation;
    const message = `${pluralize(failedCount, 'rubric')} of severity ${failOn}${failOn === 'critical' ? '' : ' or worse'} failed.`;
    throw new ResultError(new AopsError(message, { code: 'rubrics_failed', exit: exitCodes.failure }), evaluation);
  },
});

/** An evaluation without any decided rubric does not pass the check. */
const undecidedError = (): AopsError =>
  new AopsError('No rubric of the agent could be decided.', {
    code: 'rubrics_undecided',
    exit: exitCodes.failure,
    hint: '`aops agents rubrics list AGENT` shows how much of each can be checked.',
  });

/** The polling interval; milliseconds. */
const pollMilliseconds = 500;

async function readEvaluation(context: Context, params: { agentId: string; runId: string }, wait: boolean): Promise<Evaluation> {
  const { clock, signal } = context;
  const client = await context.client();
  const poll = wait
    ? retryThroughOutages(() => client.call('getRunDetail', { params }, { once: true }), { clock, signal, onOutage: outageNotes(context) })
    : () => client.call('getRunDetail', { params });
  for (;;) {
    const { status, eval_summaries: summaries } = await poll();
    const evaluation = summaries as Partial<Evaluation>;
    if (wait && (evaluation.status === undefined || evaluation.status === 'in_progress')) {
      await clock.sleep(pollMilliseconds, signal);
      continue;
    }
    if (evaluation.status !== undefined) return evaluation as Evaluation;
    throw new AopsError(`The run has not been evaluated; its status is ${status}.`, {
      code: 'not_evaluated',
      exit: exitCodes.notFound,
      hint: 'Runs are evaluated after they have finished. Wait for it with --wait.',
    });
  }
}
