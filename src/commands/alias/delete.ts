import { AopsError, exitCodes } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

export default defineCommand({
  summary: 'Delete an alias',
  arguments: { name: argument('The alias', { complete: 'aliases' }) },
  exits: [exitCodes.notFound],
  examples: [{ command: 'aops alias delete waiting', text: 'Delete the alias "waiting"' }],
  result: returns({ name: 'string', expansion: 'string' }),
  output: textOutput<{ name: string; expansion: string }>(
    ({ name, expansion }) => `Deleted the alias "${name}". It stood for: ${expansion}`,
  ),
  async run(context, input) {
    const { name } = input;
    const aliases = context.store.aliases();
    const expansion = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
    if (expansion === undefined) {
      const similar = nearest(name, Object.keys(aliases));
      throw new AopsError(`There is no alias "${name}".`, {
        code: 'alias_not_found',
        exit: exitCodes.notFound,
        hint: similar === undefined ? 'List them with `aops alias list`.' : `Did you mean ${similar}?`,
      });
    }
    await context.store.removeAlias(name);
    return { name, expansion };
  },
});
