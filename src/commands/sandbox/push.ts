import { argument, defineCommand, manyArguments, text } from '../define.ts';
import { wholeList } from '../list.ts';
import { column, listOutput, sizeColumn } from '../output.ts';
import { returns } from '../result.ts';
import { collectFiles, uploadFiles } from './upload-paths.ts';

export default defineCommand({
  summary: 'Upload files and folders to a sandbox',
  arguments: { sandbox: argument('The sandbox'), paths: manyArguments('Files and folders', { complete: 'files' }) },
  options: { to: text('DIR', 'Folder in the sandbox (default /workspace)') },
  operations: ['uploadSandboxFile', 'createSandboxUploadUrl'],
  mutates: true,
  examples: [
    { command: 'aops sandbox push SANDBOX invoices.csv', text: 'One file' },
    { command: 'aops sandbox push SANDBOX data --to /workspace/input', text: 'A folder, to be /workspace/input/data' },
  ],
  result: returns({ path: 'string', size_bytes: 'integer' }),
  output: listOutput<{ path: string; size_bytes: number }>({
    columns: [column('PATH', (file) => file.path, { shrink: true }), sizeColumn('SIZE', (file) => file.size_bytes)],
    empty: 'There are no files in what was given.',
  }),
  async run(context, input) {
    const files = await collectFiles(context, input.paths, input.to);
    return wholeList(await uploadFiles(context, input.sandbox, files));
  },
});
