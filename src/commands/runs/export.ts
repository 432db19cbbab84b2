import { UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import type { Redaction } from '../../base/secret-redaction.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { checkTarget, printContent, saveContent } from '../../cli/kit/files.ts';
import { choice, flag, text, toggle } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { recordOperations } from '../../cli/run-record/read.ts';
import { fileOperations } from '../../cli/run-record/sandbox-files.ts';
import { formatSize } from '../../terminal/size.ts';
import type { ExportContent } from './export/content.ts';

const formats = ['html', 'md', 'json'] as const;
type Format = (typeof formats)[number];

interface WrittenExport {
  file: string;
  format: Format;
  bytes: number;
  left_out: string[];
  redactions: Redaction[];
}

export default defineCommand({
  summary: 'Write the record of a run to one file',
  description:
    'The record contains what the run was, its messages, tool calls with arguments and results, diffs, human requests with who answered what and when, screenshots, and the files in its sandbox with their hashes. An HTML file is self-contained: it has no scripts and loads nothing.\n\nWhat looks like a secret is replaced: tokens of well-known services, private keys, passwords in URLs, Authorization headers, and values of fields such as "password". The record lists what was replaced, but not the values. `aops runs messages RUN --all --json` prints the unchanged messages.\n\nThe default file is run-NUMBER.html in the current folder. The format follows from the extension of the file unless --format is specified.',
  arguments: { run: runArgument },
  options: {
    format: choice(formats, 'The format of the file (default: html)'),
    to: text('FILE|-', 'Write to this file, or to stdout', { complete: 'files' }),
    force: flag('Overwrite an existing file'),
    files: toggle('Read the files in the sandbox to list them with their hashes (default: yes)'),
    screenshots: toggle('Include the screenshots (default: yes)'),
  },
  operations: [...recordOperations, ...fileOperations, 'getRunChanges', 'getRunScreenshotTimeline'],
  examples: [
    { command: 'aops runs export @latest', text: 'Write the record of the newest run as an HTML page' },
    { command: 'aops runs export 17 --to run-17.md', text: 'Write it as Markdown' },
    { command: 'aops runs export 17 --format json --to - | jq .redactions', text: 'Print it as JSON' },
  ],
  result: returns({
    file: 'string',
    format: 'html|md|json',
    bytes: 'integer',
    left_out: 'string[]',
    redactions: [{ kind: 'string', place: 'string', count: 'integer' }],
  }),
  output: textOutput<WrittenExport>(({ file, bytes, left_out, redactions }) => {
    const count = (redactions ?? []).reduce((sum, redaction) => sum + redaction.count, 0);
    return [
      `Wrote ${file} (${formatSize(bytes)})`,
      ...(count > 0 ? [`${pluralize(count, 'secret')} ${count === 1 ? 'was' : 'were'} replaced; the record lists where.`] : []),
      ...(left_out ?? []).map((sentence) => `Left out: ${sentence}`),
    ].join('\n');
  }),
  async run(context, input): Promise<WrittenExport | undefined> {
    const { to, force, run } = input;
    const format = input.format ?? formatOf(to);
    if (to !== undefined && to !== '-') checkTarget(context, to, force);
    const { exportContent } = await import('./export/content.ts');
    const content = await exportContent(context, run, { files: input.files ?? true, screenshots: input.screenshots ?? true });
    const render = await rendererOf(format);
    const bytes = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      for await (const part of inChunks(render(content))) yield Buffer.from(part);
    };
    if (to === '-') {
      await printContent(context, bytes, true);
      return undefined;
    }
    const file = to ?? `${fileNameOf(content.head.run)}.${format}`;
    checkTarget(context, file, force);
    const size = await saveContent(context, bytes, file, force);
    return { file, format, bytes: size, left_out: content.leftOut(), redactions: content.redaction.list };
  },
});

/** The format that the extension of a file stands for. @throws UsageError for an extension of none of them */
function formatOf(file: string | undefined): Format {
  if (file === undefined || file === '-') return 'html';
  const extension = /\.([^./\\]+)$/.exec(file)?.[1]?.toLowerCase();
  const format = { html: 'html', htm: 'html', md: 'md', markdown: 'md', json: 'json' }[extension ?? ''] as Format | undefined;
  if (format !== undefined) return format;
  throw new UsageError(
    `The extension of ${file} is not that of a supported format.`,
    'Use .html, .md, or .json, or specify the format with --format.',
  );
}

async function rendererOf(format: Format): Promise<(content: ExportContent) => AsyncIterable<string>> {
  if (format === 'json') return (await import('./export/json.ts')).jsonExport;
  if (format === 'md') return (await import('./export/markdown.ts')).markdownExport;
  return (await import('./export/html.ts')).htmlExport;
}

/** Characters to collect before they are written: a record has many small parts. */
const chunkLength = 64 * 1024;

async function* inChunks(parts: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let chunk = '';
  for await (const part of parts) {
    chunk += part;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** A name for the file of a run that is safe, whatever the service sends. */
const fileNameOf = ({ number, id }: { number: unknown; id: string }): string => `run-${String(number ?? id).replaceAll(/[^\w-]/g, '_')}`;
