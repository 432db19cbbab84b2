import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Stop generating an artifact',
  description:
    'The page stays unchanged. If nothing is being generated, nothing happens. --partial-text saves the part of the reply that a program had already displayed, as the last message.',
  arguments: { artifact: artifactArgument },
  options: {
    partialText: text(
      'TEXT|@FILE|-',
      'The part of the reply that had been displayed, saved as a message; @FILE reads it from a file, - from standard input',
    ),
  },
  operations: ['listArtifacts', 'stopArtifactMessage'],
  mutates: true,
  examples: [
    { command: 'aops artifacts stop @latest', text: 'Stop generating the newest artifact' },
    { command: 'aops artifacts stop @latest --partial-text @shown.txt', text: 'Save the part of the reply that had been displayed' },
  ],
  result: returns('stopArtifactMessage.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const { partialText } = input;
    const partial_text =
      partialText === undefined ? undefined : await readContent(context, partialText, length(1, 100_000), '--partial-text');
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    // Some services require a body, although all its fields are optional.
    return (await client.call('stopArtifactMessage', { params, body: partial_text === undefined ? {} : { partial_text } })).artifact;
  },
});
