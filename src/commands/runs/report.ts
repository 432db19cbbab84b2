import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput, recordFields } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { WorkflowExecutionReport } from '../../interface/types.ts';
import { agentAndRun } from './agent-run.ts';

/** Loops execute a step more than once, so that more steps may have been executed than there are. */
const stepsInWords = ({ executedSteps: done, totalSteps: all }: WorkflowExecutionReport): string =>
  done > all ? `${done}, of a procedure of ${all}` : `${done} of ${all}`;

export default defineCommand({
  summary: "Show the report of a run's execution: steps, calls, errors",
  arguments: { run: runArgument },
  operations: ['getRun', 'getWorkflowExecutionReport'],
  examples: [
    { command: 'aops runs report @latest', text: 'How far the newest run came' },
    { command: 'aops runs report RUN --jq .errors', text: 'How many errors there were' },
  ],
  result: returns('getWorkflowExecutionReport'),
  output: documentOutput<WorkflowExecutionReport>(async (report, view) => {
    const { renderSheet } = await import('../../terminal/sheet.ts');
    const outcome = {
      Completed: report.reachedCompletion ? 'yes' : 'no',
      'Stopped for': report.stopReasons.join('\n') || null,
      Provider: report.provider,
    };
    const work = {
      Steps: stepsInWords(report),
      Calls: report.executions === report.calls ? report.calls : `${report.calls}, ${report.executions} came back`,
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
