import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { integer } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { optionalRunArgument } from '../../cli/names/run-names.ts';
import { messageList } from '../../cli/records/message-list.ts';
import { caseArgument } from './record.ts';

export default defineCommand({
  summary: 'List the latest messages of a run of a case in order',
  description: 'The default is the latest run. `aops runs messages` lists the whole conversation.',
  arguments: { case: caseArgument, run: optionalRunArgument(' (default: its latest run)') },
  options: { last: integer('N', 'Number of messages (1 to 10)', { minimum: 1, maximum: 10 }) },
  operations: ['listCaseRuns', 'listCaseRunRecentMessages'],
  examples: [{ command: 'aops cases messages CASE', text: 'List the messages of its latest run' }],
  result: returns('listCaseRunRecentMessages.messages[]'),
  output: messageList,
  async run(context, input) {
    const client = await context.client();
    const run_id =
      input.run === undefined
        ? (await client.call('listCaseRuns', { params: { case_id: input.case } })).runs[0]?.id
        : await runId(context, input.run);
    if (run_id === undefined) {
      throw new AopsError('No run has worked on this case.', { code: 'run_not_found', exit: exitCodes.notFound });
    }
    const query = input.last === undefined ? {} : { limit: input.last };
    return wholeList((await client.call('listCaseRunRecentMessages', { params: { case_id: input.case, run_id }, query })).messages);
  },
});
