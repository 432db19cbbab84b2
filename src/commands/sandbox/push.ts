import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { manyArguments, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { collectFiles, uploadFiles } from '../../cli/transfers/upload-paths.ts';

export default defineCommand({
  summary: 'Upload files and folders to a sandbox',
  description:
    'The first argument is the sandbox, unless --sandbox names it: then all of them are files and folders. Files up to 10 MB are sent directly, several at a time; larger ones are streamed to a URL of their own, whatever their size. A transfer that breaks is tried again.',
  arguments: { paths: manyArguments('The sandbox, unless --sandbox names it; then files and folders', { complete: 'files' }) },
  options: {
    sandbox: text('ID', 'The sandbox; then every argument is a file or folder'),
    to: text('DIR', 'Folder in the sandbox (default /workspace)'),
  },
  operations: ['uploadSandboxFile', 'createSandboxUploadUrl'],
  mutates: true,
  examples: [
    { command: 'aops sandbox push SANDBOX invoices.csv', text: 'One file' },
    { command: 'aops sandbox push *.csv --sandbox SANDBOX', text: 'Several' },
    { command: 'aops sandbox push SANDBOX data --to /workspace/input', text: 'A folder, to be /workspace/input/data' },
  ],
  result: returns({ path: 'string', size_bytes: 'integer' }),
  output: listOutput<{ path: string; size_bytes: number }>({
    columns: [column('PATH', (file) => file.path, { shrink: true }), sizeColumn('SIZE', (file) => file.size_bytes)],
    empty: 'There are no files in what was given.',
  }),
  async run(context, input) {
    const [sandbox, paths] = target(input);
    const files = await collectFiles(context, paths, input.to);
    return wholeList(await uploadFiles(context, sandbox, files));
  },
});

/** The sandbox, and what goes there. @throws UsageError when nothing does */
function target({ sandbox, paths }: { sandbox: string | undefined; paths: readonly string[] }): [string, readonly string[]] {
  if (sandbox !== undefined) return [sandbox, paths];
  const [first, ...rest] = paths as [string, ...string[]];
  if (rest.length > 0) return [first, rest];
  throw new UsageError(
    'Give a sandbox, and files or folders.',
    `If ${first} is a file: aops sandbox push ${first} --sandbox ID. Make a sandbox with \`aops sandbox create\`.`,
  );
}
