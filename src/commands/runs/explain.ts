import { withSelection } from '../../cli/connect/selection.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { explainRun, type RunExplanation } from '../../cli/run-record/explain.ts';
import { lastGoodRun } from '../../cli/run-record/last-good-run.ts';
import { recordOperations } from '../../cli/run-record/read.ts';
import { readComparedRun } from '../../cli/run-record/read-compared.ts';
import { renderExplanation } from './explain-sheet.ts';

const step = { number: 'integer', kind: 'tool|request', at: 'date-time', title: 'string', status: 'string', outcome: 'string' } as const;

export default defineCommand({
  summary: 'Explain why a run failed or waits, and what to do next',
  description:
    'Shows the step that failed with its line in the procedure, the last error of a tool before it, the pending human request, and the failed rubrics of its evaluation. The run is compared with the last run of the same agent that completed before it: revision, settings, message, program, connections, and duration. Everything is read from the service; nothing is guessed.',
  arguments: { run: runArgument },
  operations: [...recordOperations],
  examples: [
    { command: 'aops runs explain @latest', text: 'Explain what happened in the newest run' },
    { command: "aops runs explain 17 --jq '.failure.error'", text: 'Print why a run failed' },
  ],
  result: returns({
    run: {
      id: 'uuid',
      number: 'integer|null',
      title: 'string|null',
      status: 'string',
      agent: 'string|null',
      duration_milliseconds: 'integer|null',
    },
    outcome: 'failed|interrupted|waiting|active|completed',
    summary: 'string',
    failure: {
      error: 'string',
      step: { number: 'integer', kind: 'string', line: 'integer', source: 'string|null' },
      unfinished: step,
      tool_error: step,
      steps_after_tool_error: 'integer',
    },
    current_step: step,
    pending_request: 'object',
    agent_program: { name: 'string|null', mode: 'string|null', last_text: 'string|null', notices: 'string[]' },
    failed_calls: 'integer',
    failed_rubrics: [{ severity: 'string', title: 'string', comment: 'string|null' }],
    compared_with: { id: 'uuid', number: 'integer|null', status: 'string' },
    differences: [{ name: 'string', before: 'any', after: 'any' }],
    divergence: { before: step, after: step },
    procedure: { before: 'string', after: 'string' },
    config: [{ path: 'string', before: 'any', after: 'any' }],
    next: [{ command: 'string', text: 'string' }],
    gaps: 'string[]',
  }),
  output: documentOutput<RunExplanation>(renderExplanation),
  async run(context, input): Promise<RunExplanation> {
    const run = await readComparedRun(context, input.run);
    const goodRun = await lastGoodRun(context, run.record.run);
    const explanation = explainRun(run, goodRun === undefined ? undefined : await readComparedRun(context, goodRun));
    const next = explanation.next.map(({ command, text }) => ({ command: withSelection(command, context.flags), text }));
    return { ...explanation, next };
  },
});
