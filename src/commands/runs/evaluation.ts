import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
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
    'Each rubric of the agent, and each of the platform, was met (passed), was not (failed), or could not be decided. With --fail-on the exit code is 1 when a rubric of that severity, or of a worse one, was not met, and also when none of the agent could be decided.',
  arguments: { run: runArgument },
  options: {
    wait: flag('Wait until the run has ended and is judged'),
    failOn: choice(severities, 'Exit 1 for a failed rubric of this severity or a worse one', { metavar: 'SEVERITY' }),
  },
  operations: ['getRun', 'listRuns', 'getRunDetail'],
  exits: [exitCodes.failure],
  examples: [
    { command: 'aops runs evaluation @latest', text: 'A sheet to read' },
    { command: 'aops runs evaluation @latest --wait --fail-on medium', text: 'A gate in CI' },
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
    const params = await agentAndRun(context, input.run);
    const evaluation = await read(context, params, input.wait);
    const { failOn } = input;
    const counts = evaluation.severityCounts;
    const failed =
      failOn === undefined ? 0 : severities.slice(0, severities.indexOf(failOn) + 1).reduce((sum, word) => sum + (counts?.[word] ?? 0), 0);
    if (failOn !== undefined && evaluation.status === 'in_progress')
      throw new UsageError('The run is not judged yet, so --fail-on cannot decide.', 'Wait for it with --wait.');
    if (failOn !== undefined && failed === 0 && evaluation.status === 'unavailable') throw new ResultError(undecided(), evaluation);
    if (failed === 0) return evaluation;
    const message = `${failed === 1 ? 'A rubric' : `${failed} rubrics`} of severity ${failOn}${failOn === 'critical' ? '' : ' or worse'} failed.`;
    throw new ResultError(new AopsError(message, { code: 'rubrics_failed', exit: exitCodes.failure }), evaluation);
  },
});

/** A gate that nothing was held against is not passed. */
const undecided = (): AopsError =>
  new AopsError('No rubric of the agent could be decided.', {
    code: 'rubrics_undecided',
    exit: exitCodes.failure,
    hint: '`aops agents rubrics list AGENT` shows how much of each can be checked.',
  });

/** Milliseconds between two looks. */
const interval = 500;

async function read(context: Context, params: { agentId: string; runId: string }, wait: boolean): Promise<Evaluation> {
  const client = await context.client();
  const look = retryThroughOutages(() => client.call('getRunDetail', { params }), context);
  for (;;) {
    const { status, eval_summaries: summaries } = await look();
    const evaluation = summaries as Partial<Evaluation>;
    if (wait && (evaluation.status === undefined || evaluation.status === 'in_progress')) {
      await context.clock.sleep(interval, context.signal);
      continue;
    }
    if (evaluation.status !== undefined) return evaluation as Evaluation;
    throw new AopsError(`The run is ${status} and has not been judged.`, {
      code: 'not_evaluated',
      exit: exitCodes.notFound,
      hint: 'Runs are judged when they have ended; --wait waits for it.',
    });
  }
}
