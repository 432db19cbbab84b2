import type { Artifact } from '../../interface/types.ts';
import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Stop the generation of an artifact; its page stays as it was',
  description: 'An artifact of which nothing is being made stays as it is.',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'stopArtifactMessage'],
  mutates: true,
  examples: [{ command: 'aops artifacts stop @latest', text: 'The one created last' }],
  result: returns('stopArtifactMessage.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    // A service may insist on a body, although nothing in it is required.
    return (await client.call('stopArtifactMessage', { params, body: {} })).artifact;
  },
});
