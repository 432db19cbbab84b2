import { defineCommand } from '../../cli/kit/command.ts';
import { checkTarget, printContent, saveContent } from '../../cli/kit/files.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { mediaContent } from '../../client/transfers/media.ts';
import { artifactArgument, artifactId, artifactRevision } from './record.ts';

export default defineCommand({
  summary: 'Print the HTML of a page or of an earlier revision',
  arguments: { artifact: artifactArgument },
  options: {
    revision: text('REVISION', 'Use this revision, by version or ID'),
    file: text('FILE', 'Write to this file', { complete: 'files' }),
    force: flag('Overwrite an existing file'),
  },
  operations: ['listArtifacts', 'listArtifactRevisions', 'renderArtifact', 'renderArtifactRevision'],
  examples: [
    { command: 'aops artifacts render @latest > page.html', text: 'Save the current page' },
    { command: 'aops artifacts render ARTIFACT --revision 2 --file before.html', text: 'Save the page as it was in version 2' },
  ],
  async run(context, input) {
    if (input.file !== undefined) checkTarget(context, input.file, input.force);
    const client = await context.client();
    const id = await artifactId(context, input.artifact);
    const revisionId = input.revision === undefined ? undefined : (await artifactRevision(context, id, input.revision)).id;
    const content =
      revisionId === undefined
        ? mediaContent(client, 'renderArtifact', { params: { artifactId: id } }, context.signal)
        : mediaContent(client, 'renderArtifactRevision', { params: { artifactId: id, revisionId } }, context.signal);
    if (input.file === undefined) return printContent(context, content, true);
    await saveContent(context, content, input.file, input.force);
    context.terminal.note(`Wrote ${input.file}`);
  },
});
