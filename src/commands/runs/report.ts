import type { WorkflowExecutionReport } from '../../interface/types.ts';
import { argument, defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { agentAndRun } from './agent-run.ts';

export default defineCommand({
  summary: "Show the report of a run's execution: steps, calls, errors",
  arguments: { run: argument('The run, or @latest', { complete: 'runs' }) },
  operations: ['getRun', 'getWorkflowExecutionReport'],
  examples: [{ command: 'aops runs report @latest', text: 'How far the newest run came' }],
  output: recordOutput<WorkflowExecutionReport>((report) => ({
    Completed: report.reachedCompletion ? 'yes' : 'no',
    Steps: `${report.executedSteps} of ${report.totalSteps}`,
    Calls: report.calls,
    Executions: report.executions,
    Handoffs: report.handoffs,
    Errors: report.errors,
    'Stopped for': report.stopReasons.join(', '),
    Programmatic: `${Math.round(report.programmaticExecutionRate * 100)}%${report.expectedProgrammatic ? ' (expected)' : ''}`,
    Provider: report.provider,
  })),
  async run(context, input) {
    const client = await context.client();
    return client.call('getWorkflowExecutionReport', { params: await agentAndRun(context, input.run) });
  },
});
