import { describeRequest } from '../../cli/following/requests.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact, HumanRequest } from '../../interface/types.ts';
import { pendingQuestion } from '../../watch/watch-artifact.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

interface ArtifactDetails extends Artifact {
  is_creator: boolean;
  can_edit: boolean;
  /** The question that the generation is waiting on. */
  pending_question: HumanRequest | null;
}

export default defineCommand({
  summary: 'Show an artifact and your permissions on it',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'getArtifact', 'listArtifactMessages'],
  examples: [
    { command: 'aops artifacts get @latest', text: 'Show the newest artifact' },
    { command: 'aops artifacts get ARTIFACT --jq .status', text: 'Print only the status' },
  ],
  result: returns('getArtifact.artifact', { is_creator: 'boolean', can_edit: 'boolean', pending_question: 'object|null' }),
  output: recordOutput<ArtifactDetails>(({ is_creator: yours, can_edit: editable, pending_question: question, ...artifact }) => ({
    ...artifactRecord(artifact),
    Asks: question === null ? undefined : describeRequest(question),
    Yours: yours ? 'yes' : 'no',
    'You can': editable ? 'edit' : 'view',
  })),
  async run(context, input): Promise<ArtifactDetails> {
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    const { artifact, is_creator, can_edit } = await client.call('getArtifact', { params });
    // A question appears only among the messages, and only a running generation can ask one.
    const messages =
      artifact.status === 'running' ? (await client.call('listArtifactMessages', { params, query: { limit: 100 } })).data : [];
    return { ...artifact, is_creator, can_edit, pending_question: pendingQuestion(artifact, messages) ?? null };
  },
});
