import { AopsError, exitCodes } from '../../base/errors.ts';
import { answerFromValues, answerOption } from '../../cli/input/answer-flags.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { readBack } from '../../cli/kit/secondary-requests.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactStart, pendingQuestion } from '../../watch/watch-artifact.ts';
import { followArtifact, sendAnswer, watchExits, watchFlags, watchOptions } from './follow.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Answer a question of a generation',
  description:
    'Write each answer as QUESTION=ANSWER. If there is only one question, the answer alone is enough. The generation then continues.',
  arguments: { artifact: artifactArgument },
  options: { answer: answerOption, ...watchFlags },
  operations: ['listArtifacts', 'getArtifact', 'listArtifactMessages', 'answerArtifactQuestion'],
  mutates: true,
  exits: watchExits,
  examples: [{ command: 'aops artifacts respond @latest --answer status --watch', text: 'Choose an option and watch the generation' }],
  result: returns('getArtifact.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input): Promise<Artifact | undefined> {
    const follow = await watchOptions(context, input);
    const client = await context.client();
    const id = await artifactId(context, input.artifact);
    const params = { artifactId: id };
    const { artifact } = await client.call('getArtifact', { params });
    const { data } = await client.call('listArtifactMessages', { params, query: { limit: 100 } });
    const question = pendingQuestion(artifact, data);
    if (question === undefined) {
      throw new AopsError(`The artifact is not waiting for an answer: its status is ${artifact.status}.`, {
        code: 'question_not_pending',
        exit: exitCodes.conflict,
        hint: `See its messages with \`aops artifacts messages ${id}\`.`,
      });
    }
    await sendAnswer(client, id, question, await answerFromValues(context, question, input.answer));
    if (follow) return followArtifact(context, id, artifactStart(data.at(-1)?.id), follow);
    const read = client.call('getArtifact', { params }).then(({ artifact: now }) => now);
    return readBack(context, read, artifact, 'The answer was sent, and the artifact below is from before the answer');
  },
});
