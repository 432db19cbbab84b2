import type { RunDetail } from '../../interface/types.ts';
import { argument, defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { agentAndRun } from './agent-run.ts';
import { runRecord } from './record.ts';

export default defineCommand({
  summary: 'Show everything the service tells of a run',
  arguments: { run: argument('The run, or @latest', { complete: 'runs' }) },
  operations: ['getRun', 'getRunDetail'],
  examples: [{ command: 'aops runs detail @latest --json', text: 'The detail, with the conversation' }],
  output: recordOutput<RunDetail>((run) => ({
    ...runRecord(run),
    Number: run.run_number,
    Prompts: run.submitted_prompt_count,
    Resumed: run.resume_count,
    Messages: `${run.conversationPagination.included} of ${run.conversationPagination.total} included in --json`,
    'Browser session': run.bb_session_id,
  })),
  async run(context, input) {
    const client = await context.client();
    return client.call('getRunDetail', { params: await agentAndRun(context, input.run) });
  },
});
