import { UsageError } from '../../base/errors.ts';
import { workspace } from '../../client/transfers/run-files.ts';
import { defineCommand, optionalArgument, text } from '../define.ts';
import { wholeList } from '../list.ts';
import { column, listOutput, timeColumn } from '../output.ts';
import { runId } from '../resolve.ts';
import { returns } from '../result.ts';

interface ListedFile {
  name: string;
  path: string;
  type: 'file' | 'directory';
  size: number;
  modified_at: string | null;
}

export default defineCommand({
  summary: "List a folder of a run's sandbox, or of a sandbox of its own",
  arguments: {
    run: optionalArgument('The run, or @latest; not with --sandbox', { complete: 'runs' }),
    path: optionalArgument('The folder (default /workspace)'),
  },
  options: { sandbox: text('ID', 'A sandbox of its own instead of a run') },
  operations: ['listRunSandboxFiles', 'listSandboxFiles'],
  examples: [
    { command: 'aops sandbox ls @latest', text: 'Files of the newest run' },
    { command: 'aops sandbox ls --sandbox SANDBOX /workspace/input', text: 'What was staged' },
  ],
  result: returns({
    name: 'string',
    path: 'string',
    type: 'file|directory',
    size: 'integer',
    modified_at: 'date-time|null',
    isTextFile: 'boolean?',
  }),
  output: listOutput<ListedFile>({
    columns: [
      column('NAME', (file) => (file.type === 'directory' ? `${file.name}/` : file.name), { shrink: true }),
      column('SIZE', (file) => (file.type === 'directory' ? null : file.size), { align: 'right' }),
      timeColumn('MODIFIED', (file) => file.modified_at),
    ],
    empty: 'The folder is empty.',
  }),
  async run(context, input) {
    const client = await context.client();
    if (input.sandbox !== undefined) {
      // With --sandbox the only argument is the path.
      if (input.path !== undefined) throw new UsageError('Give a run or --sandbox, not both.');
      const { files } = await client.call('listSandboxFiles', {
        params: { sandbox_id: input.sandbox },
        query: { path: input.run ?? workspace },
      });
      return wholeList(
        files.map(
          ({ name, path, type, size_bytes }): ListedFile => ({
            name,
            path,
            type: type === 'dir' ? 'directory' : 'file',
            size: size_bytes,
            modified_at: null,
          }),
        ),
      );
    }
    if (input.run === undefined) throw new UsageError('Which files? Give a run, or --sandbox ID.', 'See `aops sandbox ls --help`.');
    const { data } = await client.call('listRunSandboxFiles', {
      params: { run_id: await runId(context, input.run) },
      query: { path: input.path ?? workspace },
    });
    if (data.sandboxStatus !== 'running') context.terminal.note(`The sandbox is ${data.sandboxStatus}.`);
    return wholeList<ListedFile>(data.entries);
  },
});
