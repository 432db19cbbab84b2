import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput, recordFields } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { WorkflowExecutionReport } from '../../interface/types.ts';
import { agentAndRun } from './agent-run.ts';

/** Another service might repeat steps, so that the number of executed steps exceeds the total. */
const stepsInWords = ({ executedSteps: stepCount, totalSteps: total }: WorkflowExecutionReport): string =>
  stepCount > total ? `${stepCount} (the procedure has ${total})` : `${stepCount} of ${total}`;

export default defineCommand({
  summary: 'Show the execution report of a run',
  arguments: { run: runArgument },
  operations: ['getRun', 'getWorkflowExecutionReport'],
  examples: [
    { command: 'aops runs report @latest', text: 'Show the report of the newest run' },
    { command: 'aops runs report RUN --jq .errors', text: 'Print the number of errors' },
  ],
  result: returns('getWorkflowExecutionReport'),
  output: documentOutput<WorkflowExecutionReport>(async (report, view) => {
    const { renderSheet } = await import('../../terminal/sheet.ts');
    const outcome = {
      Completed: report.reachedCompletion ? 'yes' : 'no',
      'Stop reasons': report.stopReasons.join('\n') || null,
      Provider: report.provider,
    };
    const work = {
      Steps: stepsInWords(report),
      Calls: report.executions === report.calls ? report.calls : `${report.calls}, ${report.executions} returned`,
      Handoffs: report.handoffs,
      Errors: report.errors,
      Programmatic: `${Math.round(report.programmaticExecutionRate * 100)}%${report.expectedProgrammatic ? ' (expected)' : ''}`,
    };
    const sections = Object.entries({ Outcome: outcome, Work: work });
    return renderSheet(
      sections.map(([title, fields]) => ({ title, fields: recordFields(fields) })),
      view,
    );
  }),
  async run(context, input) {
    const client = await context.client();
    return client.call('getWorkflowExecutionReport', { params: await agentAndRun(context, input.run) });
  },
});
