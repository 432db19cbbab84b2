import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Stop the generation of an artifact; its page stays as it was',
  description:
    'An artifact of which nothing is being made stays as it is. --partial-text is saved as the last message, for programs that showed it as it came.',
  arguments: { artifact: artifactArgument },
  options: {
    partialText: text('TEXT|@FILE|-', 'What had been shown of the response, to keep it as a message; @FILE or - read it'),
  },
  operations: ['listArtifacts', 'stopArtifactMessage'],
  mutates: true,
  examples: [
    { command: 'aops artifacts stop @latest', text: 'The one created last' },
    { command: 'aops artifacts stop @latest --partial-text @shown.txt', text: 'Keep what had been shown of the response' },
  ],
  result: returns('stopArtifactMessage.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const { partialText } = input;
    const partial_text =
      partialText === undefined ? undefined : await readContent(context, partialText, length(1, 100_000), '--partial-text');
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    // A service may insist on a body, although nothing in it is required.
    return (await client.call('stopArtifactMessage', { params, body: partial_text === undefined ? {} : { partial_text } })).artifact;
  },
});
