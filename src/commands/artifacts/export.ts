import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { checkTarget, printContent, saveContent } from '../../cli/kit/files.ts';
import { choice, flag, text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { mediaContent } from '../../client/transfers/media.ts';
import { artifactThemes } from '../../interface/artifact-words.ts';
import { artifactArgument, artifactId } from './record.ts';

interface Written {
  files: { file: string; bytes: number }[];
}

export default defineCommand({
  summary: 'Export a page as an HTML or PDF file',
  description:
    'The HTML file is whole in itself: it has no scripts and loads nothing. Without --theme, it and the PDF are light. A PDF is printed by a Chromium on the machine of the service.',
  arguments: { artifact: artifactArgument },
  options: {
    html: text('FILE|-', 'Write HTML into this file, or to stdout', { complete: 'files' }),
    pdf: text('FILE|-', 'Write PDF into this file, or to stdout', { complete: 'files' }),
    theme: choice(artifactThemes, 'Light or dark'),
    force: flag('Replace what is there'),
  },
  operations: ['listArtifacts', 'exportArtifactHtml', 'exportArtifactPdf'],
  examples: [
    { command: 'aops artifacts export @latest --html report.html', text: 'To send, or to keep' },
    { command: 'aops artifacts export @latest --pdf report.pdf --html report.html --theme light', text: 'Both' },
    { command: 'aops artifacts export ARTIFACT --pdf - | lp', text: 'On paper' },
  ],
  result: returns({ files: [{ file: 'string', bytes: 'integer' }] }),
  output: textOutput<Written>(({ files }) => files.map(({ file }) => `Wrote ${file}`).join('\n')),
  async run(context, input): Promise<Written | undefined> {
    const { html, pdf, force } = input;
    if (html === undefined && pdf === undefined) throw new UsageError('Export it as what?', 'Give --html FILE or --pdf FILE, or both.');
    if (html !== undefined && html === pdf) throw new UsageError('--html and --pdf go to different places.');
    for (const file of [html, pdf]) if (file !== undefined && file !== '-') checkTarget(context, file, force);
    const client = await context.client();
    const asked = { params: { artifactId: await artifactId(context, input.artifact) }, query: omitUndefined({ theme: input.theme }) };
    const files: Written['files'] = [];
    for (const [file, operation] of [
      [html, 'exportArtifactHtml'],
      [pdf, 'exportArtifactPdf'],
    ] as const) {
      if (file === undefined) continue;
      const content = mediaContent(client, operation, asked, context.signal);
      if (file === '-') await printContent(context, content, operation === 'exportArtifactHtml');
      else files.push({ file, bytes: await saveContent(context, content, file, force) });
    }
    // What is on stdout is the page.
    return html === '-' || pdf === '-' ? undefined : { files };
  },
});
