import { omitUndefined } from '../../base/omit-undefined.ts';
import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, text } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact, ArtifactMessage } from '../../interface/types.ts';
import { artifactStart } from '../../watch/watch-artifact.ts';
import { followArtifact, watchExits, watchFlags, watchOptions } from './follow.ts';
import { artifactArgument, artifactId, artifactRecord, artifactRevision } from './record.ts';

export default defineCommand({
  summary: 'Send a message that asks for a change to a page',
  description:
    'Prints the message; with --watch, the artifact once the generation has ended. --answers and --on-request imply --watch. --from starts from an earlier revision and ignores later changes.',
  arguments: { artifact: artifactArgument, message: argument('What should change; @FILE reads it from a file, - from standard input') },
  options: { from: text('REVISION', 'Start from this revision, by version or ID, instead of the current one'), ...watchFlags },
  operations: [
    'listArtifacts',
    'listArtifactRevisions',
    'sendArtifactMessage',
    'getArtifact',
    'listArtifactMessages',
    'answerArtifactQuestion',
  ],
  mutates: true,
  exits: watchExits,
  examples: [
    {
      command: "aops artifacts send @latest 'add usage; remove the table' --watch",
      text: 'Change the newest page and wait until it is ready',
    },
    { command: "aops artifacts send ARTIFACT 'as a line chart' --from 2", text: 'Start from an earlier revision' },
  ],
  result: returns('sendArtifactMessage.user_message'),
  // With --watch.
  otherResults: [returns('getArtifact.artifact')],
  output: recordOutput<ArtifactMessage | Artifact>((result) =>
    'html_code_present' in result
      ? artifactRecord(result)
      : { ID: result.id, Artifact: result.artifact_id, Message: result.content, Created: time(result.created_at) },
  ),
  async run(context, input): Promise<ArtifactMessage | Artifact | undefined> {
    const follow = await watchOptions(context, input);
    const message = await readContent(context, input.message, length(1, 10_000), 'MESSAGE');
    const client = await context.client();
    const id = await artifactId(context, input.artifact);
    const from_revision_id = input.from === undefined ? undefined : (await artifactRevision(context, id, input.from)).id;
    const body = { message, ...omitUndefined({ from_revision_id }) };
    const { user_message } = await client.call('sendArtifactMessage', { params: { artifactId: id }, body });
    if (follow) return followArtifact(context, id, artifactStart(user_message.id), follow);
    context.terminal.advise(`Check on it with: aops artifacts get ${id}`);
    return user_message;
  },
});
