import type { Artifact } from '../../interface/types.ts';
import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Show an artifact, and what you may do with it',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'getArtifact'],
  examples: [
    { command: 'aops artifacts get @latest', text: 'How far it is' },
    { command: 'aops artifacts get ARTIFACT --jq .status', text: 'In a script' },
  ],
  result: returns('getArtifact.artifact', { is_creator: 'boolean', can_edit: 'boolean' }),
  output: recordOutput<Artifact & { is_creator: boolean; can_edit: boolean }>(({ is_creator: yours, can_edit: editable, ...artifact }) => ({
    ...artifactRecord(artifact),
    Yours: yours ? 'yes' : 'no',
    'You may': editable ? 'change it' : 'look at it',
  })),
  async run(context, input) {
    const client = await context.client();
    const { artifact, is_creator, can_edit } = await client.call('getArtifact', {
      params: { artifactId: await artifactId(context, input.artifact) },
    });
    return { ...artifact, is_creator, can_edit };
  },
});
