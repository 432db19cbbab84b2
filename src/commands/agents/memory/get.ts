import { AopsError, UsageError } from '../../../base/errors.ts';
import { nearest } from '../../../base/nearest.ts';
import type { Check } from '../../../cli/kit/checks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Client } from '../../../client/client.ts';
import { ServiceAnswerError } from '../../../client/errors.ts';
import type { MemoryFileContent } from '../../../interface/types.ts';

/** Accepts only paths inside the memory, so that no service receives `..`. */
const memoryPath: Check = (value, name) => {
  if (value.split('/').every((part) => part !== '' && part !== '.' && part !== '..')) return value;
  throw new UsageError(
    `${name} must be the path of a memory file, not "${value}".`,
    'List the memory files with `aops agents memory list AGENT`.',
  );
};

export default defineCommand({
  summary: 'Print a memory file of an agent',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    path: argument('The path of the file', { complete: 'memory', check: memoryPath }),
  },
  operations: ['listAgents', 'getAgentMemoryFile', 'listAgentMemoryFiles'],
  examples: [
    { command: 'aops agents memory get invoice-check suppliers/acme.md', text: 'Print a memory file' },
    {
      command: 'aops agents memory get invoice-check notes.md --json --jq .source_agent_run_id',
      text: 'Print the ID of the run that wrote it',
    },
  ],
  result: returns('getAgentMemoryFile'),
  output: textOutput<MemoryFileContent>(({ content }) => content.replace(/\n$/, '')),
  async run(context, input) {
    const client = await context.client();
    const agent_id = await agentId(context, input.agent);
    try {
      return await client.call('getAgentMemoryFile', { params: { agent_id, path: input.path } });
    } catch (error) {
      if (error instanceof ServiceAnswerError && error.status === 404) throw await noSuchFile(client, agent_id, input.path, error);
      throw error;
    }
  },
});

/** The same failure with a suggestion. */
async function noSuchFile(client: Client, agent_id: string, path: string, error: ServiceAnswerError): Promise<AopsError> {
  const { files } = await client.call('listAgentMemoryFiles', { params: { agent_id } });
  const paths = files.map((file) => file.path);
  const suggestion = nearest(path, paths);
  const hint =
    suggestion !== undefined
      ? `Did you mean ${suggestion}?`
      : paths.length === 0
        ? 'The agent has no memory files.'
        : `Its memory files are: ${paths.slice(0, 10).join(', ')}${paths.length > 10 ? ', ...' : ''}`;
  return new AopsError(`The agent has no memory file ${path}.`, { code: error.code, exit: error.exit, details: error.details, hint });
}
