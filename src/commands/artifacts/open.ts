import { rm } from 'node:fs/promises';
import path from 'node:path';
import { makeTemporaryFolder } from '../../base/temporary-folder.ts';
import { openFile } from '../../cli/desktop/open.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import { mediaContent } from '../../client/transfers/media.ts';
import { artifactThemes } from '../../interface/artifact-words.ts';
import { withPolicy } from './page-policy.ts';
import { artifactArgument, artifactId } from './record.ts';

export default defineCommand({
  summary: 'Open a page in your browser',
  description:
    'The page is saved in a temporary folder that only you can read. A content security policy blocks its scripts and anything it would load. Without a terminal or a browser, the path is printed instead.',
  arguments: { artifact: artifactArgument },
  options: { theme: choice(artifactThemes, 'Theme of the page, instead of the preference of the browser') },
  operations: ['listArtifacts', 'renderArtifact', 'exportArtifactHtml'],
  examples: [{ command: 'aops artifacts open @latest', text: 'Open the newest page' }],
  result: returns({ path: 'string', opened: 'boolean' }),
  output: textOutput<{ path: string; opened: boolean }>(({ path: file, opened }) => (opened ? `Opened ${file}` : file)),
  async run(context, input) {
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    // An export has a theme; the page itself follows that of the browser.
    const page =
      input.theme === undefined
        ? mediaContent(client, 'renderArtifact', { params }, context.signal)
        : mediaContent(client, 'exportArtifactHtml', { params, query: { theme: input.theme } }, context.signal);
    const content = withPolicy(page);
    const folder = await makeTemporaryFolder('aops-artifact-', context.env.TMPDIR || undefined);
    try {
      await new LocalFolder(folder).write('artifact.html', content, { replace: false, signal: context.signal });
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    const file = path.join(folder, 'artifact.html');
    return { path: file, opened: context.terminal.out.isTTY && (await openFile(context, file)) };
  },
});
