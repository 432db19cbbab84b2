import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openFile } from '../../cli/desktop/opener.ts';
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
  summary: 'Look at a page in your browser',
  description:
    'The page is exported into a temporary folder that is yours alone, and opened from there with a policy that lets no script run and nothing be loaded from elsewhere. Off a terminal, or where nothing opens it, the path is printed.',
  arguments: { artifact: artifactArgument },
  options: { theme: choice(artifactThemes, 'Light or dark, in place of what the browser likes') },
  operations: ['listArtifacts', 'renderArtifact', 'exportArtifactHtml'],
  examples: [{ command: 'aops artifacts open @latest', text: 'The newest page' }],
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
    const folder = await mkdtemp(path.join(context.env.TMPDIR || tmpdir(), 'aops-artifact-'));
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
