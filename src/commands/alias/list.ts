import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { shellLine } from '../../cli/program/user-commands/expand.ts';

interface ListedAlias {
  id: string;
  name: string;
  expansion: string;
  /** Whether a shell runs it. */
  shell: boolean;
}

export default defineCommand({
  summary: 'List your aliases',
  examples: [
    { command: 'aops alias list', text: 'List all aliases' },
    { command: "aops alias list --template '{{ name }}: {{ expansion }}'", text: 'Print only names and expansions' },
  ],
  result: returns({ id: 'string', name: 'string', expansion: 'string', shell: 'boolean' }),
  output: listOutput<ListedAlias>({
    columns: [
      column('ALIAS', (alias) => alias.name),
      column('STANDS FOR', ({ expansion }) => shellLine(expansion) ?? `aops ${expansion}`, { shrink: true }),
      column('RUN BY', ({ shell }) => (shell ? 'sh' : 'aops')),
    ],
    empty: "There are no aliases. Create one with `aops alias set NAME 'EXPANSION'`.",
  }),
  async run(context) {
    const aliases = Object.entries(context.store.aliases()).sort(([a], [b]) => (a < b ? -1 : 1));
    return wholeList(
      aliases.map(([name, expansion]): ListedAlias => ({ id: name, name, expansion, shell: shellLine(expansion) !== undefined })),
    );
  },
});
