/** Tools for the files of a run's sandbox. */
import Type from 'typebox';
import { Closed } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';
import { describeList } from '../words.ts';
import { runId } from './arguments.ts';

export const fileTools = [
  defineTool({
    name: 'list_files',
    title: 'List files',
    description: "Lists a directory of a run's sandbox.",
    operation: 'listRunSandboxFiles',
    input: Closed({
      run_id: runId,
      path: Type.Optional(Type.String({ description: 'The directory (default: the workspace of the run)' })),
    }),
    readOnly: true,
    async run({ call }, { run_id, path }) {
      const answer = await call('listRunSandboxFiles', { params: { run_id }, query: { path } });
      const { sandboxStatus, path: directory, entries } = answer.data;
      if (sandboxStatus === 'not_found') return { structured: answer, text: 'The sandbox of this run has been removed.' };
      if (sandboxStatus === 'error') return { structured: answer, text: 'The sandbox of this run cannot be read.' };
      const rows = entries.map((entry) => (entry.type === 'directory' ? `${entry.path}/` : `${entry.path} (${entry.size} bytes)`));
      return { structured: answer, text: describeList(`entries in ${directory}`, rows, entries.length) };
    },
  }),
  defineTool({
    name: 'read_file',
    title: 'Read a file',
    description:
      "Reads a file of a run's sandbox. Text of up to 1 MB is part of the result; for anything else, the result contains a download_url.",
    operation: 'getRunSandboxFileContent',
    input: Closed({ run_id: runId, path: Type.String({ minLength: 1, description: 'The path of the file, as returned by list_files' }) }),
    readOnly: true,
    async run({ call }, { run_id, path }) {
      const answer = await call('getRunSandboxFileContent', { params: { run_id }, query: { path } });
      const { content, size, message, download_url: url, truncated } = answer.data;
      if (content === null)
        return { structured: answer, text: message ?? `${path} is not a text file (${size} bytes). Download it from ${url}` };
      return { structured: answer, text: truncated ? `${content}\n[Truncated. Download all ${size} bytes from ${url}]` : content };
    },
  }),
];
