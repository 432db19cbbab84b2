import { pluralize } from '../../base/pluralize.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { integer, optionalArgument } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, runPlace } from '../../cli/names/run-place.ts';
import { workspace } from '../../client/transfers/run-files.ts';
import { walkRunTree } from '../../client/transfers/walk.ts';
import type { SandboxFileEntry } from '../../interface/types.ts';
import { formatSize } from '../../terminal/size.ts';

interface Tree {
  path: string;
  directories: number;
  files: number;
  /** Bytes. */
  size: number;
  /** Whether --depth and --limit omitted nothing. */
  complete: boolean;
  entries: SandboxFileEntry[];
}

export default defineCommand({
  summary: "Show the files of a run's sandbox as a tree",
  arguments: {
    run: runArgument,
    path: optionalArgument('The folder (default: /workspace)'),
  },
  options: {
    depth: integer('N', 'Maximum depth of folders', { minimum: 1 }),
    limit: integer('N', 'Maximum number of files and folders (default: 1000)', { minimum: 1, maximum: 100_000 }),
    ...agentFlag,
  },
  operations: ['listRunSandboxFiles', 'listAgentRunSandboxFiles', 'listAgents'],
  examples: [
    { command: 'aops sandbox tree @latest', text: 'Show the files of the newest run' },
    { command: 'aops sandbox tree RUN out --depth 2', text: 'Show a folder and its subfolders' },
    { command: 'aops sandbox tree RUN --jq .size', text: 'Print the total number of bytes' },
  ],
  result: returns({
    path: 'string',
    directories: 'integer',
    files: 'integer',
    size: 'integer',
    complete: 'boolean',
    entries: [
      { name: 'string', path: 'string', type: 'file|directory', size: 'integer', modified_at: 'date-time|null', isTextFile: 'boolean' },
    ],
  }),
  output: documentOutput<Tree>(async (tree, view) => {
    const { renderTree } = await import('../../terminal/tree.ts');
    const text = renderTree(tree.path, tree.entries, view);
    if (!view.tty) return text;
    const totals = [pluralize(tree.directories, 'folder'), pluralize(tree.files, 'file'), formatSize(tree.size)].join(', ');
    return `${text}\n${totals}${tree.complete ? '' : '; the list is incomplete'}\n`;
  }),
  async run(context, input): Promise<Tree> {
    const client = await context.client();
    const { treeOrder } = await import('../../terminal/tree.ts');
    const bounds = { entries: input.limit ?? 1_000, depth: input.depth };
    const place = await runPlace(context, input.run, input.agent);
    const { path, entries, complete } = await walkRunTree(client, place, input.path ?? workspace, bounds, context.signal);
    const files = entries.filter(({ type }) => type === 'file');
    return {
      path,
      directories: entries.length - files.length,
      files: files.length,
      size: files.reduce((sum, { size }) => sum + size, 0),
      complete,
      entries: treeOrder(path, entries).map(({ entry }) => entry),
    };
  },
});
