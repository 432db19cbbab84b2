import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { commandsOf } from '../../cli/kit/tree.ts';
import { listExtensions } from '../../cli/program/user-commands/extensions.ts';
import { isBuiltIn } from '../../cli/program/user-commands/resolve.ts';

interface ListedExtension {
  id: string;
  name: string;
  path: string;
  /** What `aops NAME` runs instead. */
  hidden_by: 'command' | 'alias' | null;
}

export default defineCommand({
  summary: 'List the extensions on your PATH',
  description:
    'An extension is a program called aops-NAME in a folder of PATH. `aops NAME` runs it with the arguments that follow, and ends with its exit code. A built-in command or an alias with the same name takes precedence. The extension gets the path of aops in AOPS_BIN, its name in AOPS_EXTENSION, and the selected profile in AOPS_PROFILE, but no credential: it calls `"$AOPS_BIN" api`, or `"$AOPS_BIN" auth token`.',
  examples: [
    { command: 'aops extensions list', text: 'List all extensions' },
    { command: 'aops deploy --region eu', text: 'Run the program aops-deploy with --region eu' },
  ],
  result: returns({ id: 'string', name: 'string', path: 'string', hidden_by: 'command|alias|null' }),
  output: listOutput<ListedExtension>({
    columns: [
      column('NAME', (extension) => extension.name),
      column('PROGRAM', (extension) => extension.path, { shrink: true }),
      column('HIDDEN BY', ({ name, hidden_by }) => (hidden_by === null ? '' : `${hidden_by} ${name}`)),
    ],
    empty: 'There are no extensions: no folder of PATH contains a program called aops-NAME.',
  }),
  async run(context) {
    const aliases = context.store.aliases();
    const extensions = await listExtensions({ env: context.env, platform: context.launcher.platform });
    return wholeList(
      extensions.map(({ name, path }): ListedExtension => {
        const hiddenBy = isBuiltIn(commandsOf(context), name) ? 'command' : Object.hasOwn(aliases, name) ? 'alias' : null;
        return { id: name, name, path, hidden_by: hiddenBy };
      }),
    );
  },
});
