import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { repeatedArgument, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { collectFiles, uploadFiles } from '../../cli/transfers/upload-paths.ts';

export default defineCommand({
  summary: 'Upload files and folders to a sandbox',
  description:
    'The first argument is the sandbox. With --sandbox, all arguments are files and folders. Files up to 10 MB are uploaded directly, several at a time; larger files of any size are streamed to a separate URL. Interrupted transfers are retried.',
  arguments: { paths: repeatedArgument('The sandbox, unless --sandbox is used, followed by files and folders', { complete: 'files' }) },
  options: {
    sandbox: text('ID', 'The sandbox; all arguments are then files and folders'),
    to: text('DIR', 'Folder in the sandbox (default: /workspace)'),
  },
  operations: ['uploadSandboxArchive', 'uploadSandboxFile', 'createSandboxUploadUrl'],
  mutates: true,
  examples: [
    { command: 'aops sandbox push SANDBOX invoices.csv', text: 'Upload a file' },
    { command: 'aops sandbox push *.csv --sandbox SANDBOX', text: 'Upload several files' },
    { command: 'aops sandbox push SANDBOX data --to /workspace/input', text: 'Upload a folder as /workspace/input/data' },
  ],
  result: returns({ path: 'string', size_bytes: 'integer' }),
  output: listOutput<{ path: string; size_bytes: number }>({
    columns: [column('PATH', (file) => file.path, { shrink: true }), sizeColumn('SIZE', (file) => file.size_bytes)],
    empty: 'There are no files to upload.',
  }),
  async run(context, input) {
    const [sandbox, paths] = target(input);
    const files = await collectFiles(context, paths, input.to);
    return wholeList(await uploadFiles(context, sandbox, files));
  },
});

/** The sandbox and the paths to upload. @throws UsageError when there are none */
function target({ sandbox, paths }: { sandbox: string | undefined; paths: readonly string[] }): [string, readonly string[]] {
  if (sandbox !== undefined) return [sandbox, paths];
  const [first, ...rest] = paths as [string, ...string[]];
  if (rest.length > 0) return [first, rest];
  throw new UsageError(
    'Specify a sandbox and at least one file or folder.',
    `If ${first} is a file, use: aops sandbox push ${first} --sandbox ID. Create a sandbox with \`aops sandbox create\`.`,
  );
}
