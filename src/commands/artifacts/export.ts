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

interface ExportedFile {
  files: { file: string; bytes: number }[];
}

export default defineCommand({
  summary: 'Export a page as an HTML or PDF file',
  description:
    'The HTML file is self-contained: it has no scripts and loads nothing. The default theme is light. PDF files are printed by Chromium on the machine of the service.',
  arguments: { artifact: artifactArgument },
  options: {
    html: text('FILE|-', 'Write HTML to this file, or to stdout', { complete: 'files' }),
    pdf: text('FILE|-', 'Write PDF to this file, or to stdout', { complete: 'files' }),
    theme: choice(artifactThemes, 'Theme of the page: light or dark'),
    force: flag('Overwrite existing files'),
  },
  operations: ['listArtifacts', 'exportArtifactHtml', 'exportArtifactPdf'],
  examples: [
    { command: 'aops artifacts export @latest --html report.html', text: 'Export an HTML file' },
    { command: 'aops artifacts export @latest --pdf report.pdf --html report.html --theme light', text: 'Export HTML and PDF' },
    { command: 'aops artifacts export ARTIFACT --pdf - | lp', text: 'Print the page on paper' },
  ],
  result: returns({ files: [{ file: 'string', bytes: 'integer' }] }),
  output: textOutput<ExportedFile>(({ files }) => files.map(({ file }) => `Wrote ${file}`).join('\n')),
  async run(context, input): Promise<ExportedFile | undefined> {
    const { html, pdf, force } = input;
    if (html === undefined && pdf === undefined)
      throw new UsageError('No output file was specified.', 'Pass --html FILE, --pdf FILE, or both.');
    if (html !== undefined && html === pdf) throw new UsageError('--html and --pdf need different files.');
    for (const file of [html, pdf]) if (file !== undefined && file !== '-') checkTarget(context, file, force);
    const client = await context.client();
    const request = { params: { artifactId: await artifactId(context, input.artifact) }, query: omitUndefined({ theme: input.theme }) };
    const files: ExportedFile['files'] = [];
    for (const [file, operation] of [
      [html, 'exportArtifactHtml'],
      [pdf, 'exportArtifactPdf'],
    ] as const) {
      if (file === undefined) continue;
      const content = mediaContent(client, operation, request, context.signal);
      if (file === '-') await printContent(context, content, operation === 'exportArtifactHtml');
      else files.push({ file, bytes: await saveContent(context, content, file, force) });
    }
    // stdout already contains the page.
    return html === '-' || pdf === '-' ? undefined : { files };
  },
});
