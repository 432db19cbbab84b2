import { AopsError, exitCodes } from '../../base/errors.ts';
import { answerFromValues, answerOption } from '../../cli/input/answer-flags.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput, status } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import type { ReviewedBuilderRun } from '../../interface/types.ts';
import { questionsOf } from '../../watch/watch-builder-run.ts';
import { sendAnswers } from './questions.ts';

export default defineCommand({
  summary: 'Answer a question of the builder run',
  description:
    'Write each answer as QUESTION=ANSWER. If there is only one question, the answer alone is enough. The builder run then continues. This operation is an extension of the interface, so hosted services might not offer it.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, answer: answerOption },
  operations: ['listAgents', 'listAgentRevisions', 'getLatestBuilderRun', 'answerBuilderRun'],
  mutates: true,
  examples: [{ command: "aops revisions respond invoice-check@latest --answer 'Step 2 (approve): Pay?'", text: 'Choose an option' }],
  result: returns('answerBuilderRun.builder_run'),
  output: recordOutput<ReviewedBuilderRun>((run) => ({ 'Builder run': run.id, Status: status(run.status), Revision: run.build_id })),
  async run(context, input) {
    const client = await context.client();
    const build_id = await revisionId(context, input.revision, input.agent);
    const run = await client.call('getLatestBuilderRun', { params: { build_id } });
    const question = questionsOf(run);
    if (question === undefined) {
      throw new AopsError(`The builder run is not waiting for an answer: its status is ${run.status}.`, {
        code: 'builder_run_not_waiting',
        exit: exitCodes.conflict,
        hint: `Show it with \`aops revisions builder-run ${build_id}\`.`,
      });
    }
    return sendAnswers(client, run.id, question, await answerFromValues(context, question, input.answer));
  },
});
