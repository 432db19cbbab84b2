/** Tools for the memory of an agent, which its runs share. */
import Type from 'typebox';
import { Closed } from '../../../interface/schemas/common.ts';
import { ServiceError } from '../../errors.ts';
import { describeList } from '../words.ts';
import { change, defineRunTool, quoted, read } from './tool.ts';

const path = (description: string) => Type.String({ minLength: 1, description });

export const memoryTools = [
  defineRunTool({
    name: 'list_memory',
    title: 'List the memory',
    description: 'Lists the memory files of this agent, which earlier runs have written. Read those that help with read_memory.',
    input: Closed({}),
    readOnly: true,
    async run(call) {
      const memory = await read(call, (host) => host.tools.memory());
      const files = [...memory].map(([name, content]) => ({ path: name, bytes: Buffer.byteLength(content) }));
      const rows = files.map((file) => `${file.path} (${file.bytes} bytes)`);
      return { structured: { files }, text: describeList('memory files', rows, rows.length) };
    },
  }),
  defineRunTool({
    name: 'read_memory',
    title: 'Read from the memory',
    description: 'Returns a memory file of this agent.',
    input: Closed({ path: path('The path of the file, from list_memory') }),
    readOnly: true,
    async run(call, { path: name }) {
      const content = (await read(call, (host) => host.tools.memory())).get(name);
      if (content === undefined) throw new ServiceError(404, 'memory_file_not_found', `There is no memory file ${quoted(name)}.`);
      return { structured: { path: name, content }, text: content };
    },
  }),
  defineRunTool({
    name: 'remember',
    title: 'Remember',
    description:
      'Writes a memory file, which later runs of this agent can read. Use it for facts that help with similar work, never for secrets. Replaces an existing file unless append is true.',
    input: Closed({
      path: path('A relative path, such as notes.md or suppliers/acme.md'),
      content: Type.String({ description: 'The text' }),
      append: Type.Optional(Type.Boolean({ description: 'Whether to add the text to an existing file, on a new line (default false)' })),
    }),
    readOnly: false,
    // It can replace what earlier runs have written.
    destructive: true,
    async run(call, args) {
      const { path: name, content, append = false } = args;
      const notice = `The agent wrote the memory file ${quoted(name)}.`;
      const action = { do: 'remember', write: { path: name, content, append } } as const;
      const result = await change(call, { tool: 'remember', args, action, notice });
      return { structured: result, text: `The memory file ${name} has ${String(result.bytes)} bytes now.` };
    },
  }),
];
