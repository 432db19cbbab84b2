import path from 'node:path';
import { AopsError } from '../../../base/errors.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, flag, requiredText } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import { LocalFolder } from '../../../client/transfers/local-files.ts';
import { checkNames } from '../../../client/transfers/local-names.ts';

interface PulledFile {
  path: string;
  file: string;
  size: number;
}

export default defineCommand({
  summary: 'Download the memory files of an agent',
  description: 'If one of the files exists already, nothing is written, unless --force is used.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: {
    to: requiredText('DIR', 'Directory to save the files in', { complete: 'directories' }),
    force: flag('Overwrite existing files'),
  },
  operations: ['listAgents', 'listAgentMemoryFiles', 'getAgentMemoryFile'],
  examples: [{ command: 'aops agents memory pull invoice-check --to memory', text: 'Download all memory files' }],
  result: returns({ path: 'string', file: 'string', size: 'integer' }),
  output: listOutput<PulledFile>({
    columns: [column('FILE', (file) => file.file, { shrink: true }), sizeColumn('SIZE', (file) => file.size)],
    empty: 'The agent has no memory files.',
  }),
  async run(context, input) {
    const client = await context.client();
    const agent = await agentId(context, input.agent);
    const { files } = await client.call('listAgentMemoryFiles', { params: { agent_id: agent } });
    const folder = new LocalFolder(path.resolve(context.cwd, input.to));
    checkPaths(files.map((file) => file.path));
    for (const file of files) folder.check(file.path, input.force);
    const pulledFiles: PulledFile[] = [];
    for (const { path: name } of files) {
      const { content } = await client.call('getAgentMemoryFile', { params: { agent_id: agent, path: name } });
      const bytes = Buffer.from(content);
      const size = await folder.write(
        name,
        async function* () {
          yield bytes;
        },
        { replace: input.force, signal: context.signal },
      );
      pulledFiles.push({ path: name, file: path.relative(context.cwd, folder.target(name)) || name, size });
    }
    return wholeList(pulledFiles);
  },
});

/** @throws AopsError for paths that cannot exist next to each other on this machine */
function checkPaths(paths: readonly string[]): void {
  try {
    checkNames(paths);
  } catch (error) {
    if (!(error instanceof AopsError)) throw error;
    const hint = 'Nothing was written. Print the files one by one with `aops agents memory get AGENT PATH`.';
    throw new AopsError(error.message, { code: error.code, exit: error.exit, hint });
  }
}
