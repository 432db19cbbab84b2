import { UsageError } from '../../base/errors.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, optionalArgument, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { optionalRunArgument } from '../../cli/names/run-names.ts';
import { agentFlag, runPlace } from '../../cli/names/run-place.ts';
import { listRunFolder, workspace } from '../../client/transfers/run-files.ts';
import { fileView } from './file-view.ts';

interface ListedFile {
  name: string;
  path: string;
  type: 'file' | 'directory';
  size: number;
  modified_at: string | null;
  /** Null if the service does not report this. */
  isTextFile: boolean | null;
}

const name = column<ListedFile>('NAME', (file) => (file.type === 'directory' ? `${file.name}/` : file.name), { shrink: true });
const size = sizeColumn<ListedFile>('SIZE', (file) => (file.type === 'directory' ? null : file.size));

export default defineCommand({
  summary: "List a folder in a run's sandbox or a staged sandbox",
  arguments: {
    run: optionalRunArgument('; not with --sandbox', { unless: ['sandbox'] }),
    path: optionalArgument('The folder (default: /workspace)'),
  },
  options: {
    long: flag('Also show type, kind, and modification time', { short: 'l' }),
    sandbox: text('ID', 'List a staged sandbox instead of the sandbox of a run'),
    ...agentFlag,
    ...webFlag,
  },
  operations: ['listRunSandboxFiles', 'listAgentRunSandboxFiles', 'listSandboxFiles', 'listAgents', 'createPageCode'],
  examples: [
    { command: 'aops sandbox ls @latest', text: 'List the files of the newest run' },
    { command: 'aops sandbox ls -l RUN out', text: 'List a folder with details' },
    { command: 'aops sandbox ls --sandbox SANDBOX /workspace/input', text: 'List staged files' },
  ],
  result: returns({
    name: 'string',
    path: 'string',
    type: 'file|directory',
    size: 'integer',
    modified_at: 'date-time|null',
    isTextFile: 'boolean|null',
  }),
  output: listOutput<ListedFile>({
    columns: [name, size],
    forms: {
      long: [column('TYPE', (file) => file.type), column('KIND', kindOf), size, timeColumn('MODIFIED', (file) => file.modified_at), name],
    },
    empty: 'The folder is empty.',
  }),
  async run(context, input) {
    if (input.web) {
      refuseWithWeb(input, { sandbox: 'the page shows the sandboxes of runs only', agent: 'the page does not check the agent' });
      return openTeamPage(context, fileView(await runId(context, requireRun(input.run)), 'files', input.path ?? '.'));
    }
    const list = wholeList(input.sandbox === undefined ? await listRun() : await listSandbox(input.sandbox));
    if (input.long) list.form = 'long';
    return list;

    async function listRun(): Promise<ListedFile[]> {
      const client = await context.client();
      const place = await runPlace(context, requireRun(input.run), input.agent);
      return (await listRunFolder(client, place, input.path ?? workspace, context.signal)).entries;
    }

    async function listSandbox(sandbox_id: string): Promise<ListedFile[]> {
      const client = await context.client();
      // With --sandbox the only argument is the path.
      if (input.path !== undefined) throw new UsageError('A run and --sandbox cannot be combined.');
      if (input.agent !== undefined) throw new UsageError('--agent requires a run, because a staged sandbox has no agent.');
      const { files } = await client.call('listSandboxFiles', { params: { sandbox_id }, query: { path: input.run ?? workspace } });
      return files.map(({ type, size_bytes, ...file }) => ({
        ...file,
        type: type === 'dir' ? 'directory' : 'file',
        size: size_bytes,
        modified_at: null,
        isTextFile: null,
      }));
    }
  },
});

function requireRun(run: string | undefined): string {
  if (run !== undefined) return run;
  throw new UsageError('No run or sandbox was specified.', 'Pass a run or --sandbox ID; see `aops sandbox ls --help`.');
}

function kindOf({ type, isTextFile }: ListedFile): string | null {
  if (type === 'directory' || isTextFile === null) return null;
  return isTextFile ? 'text' : 'binary';
}
