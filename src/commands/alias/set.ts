import { exitCodes, UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, flag } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { commandsOf } from '../../cli/kit/tree.ts';
import { expansionWords, shellLine } from '../../cli/program/user-commands/expand.ts';
import { findExtension } from '../../cli/program/user-commands/extensions.ts';
import { firstWordIndex } from '../../cli/program/user-commands/first-word.ts';
import { isBuiltIn } from '../../cli/program/user-commands/resolve.ts';

interface StoredAlias {
  name: string;
  expansion: string;
  /** Whether a shell runs it. */
  shell: boolean;
  /** The expansion that it replaced. */
  previous: string | null;
}

export default defineCommand({
  summary: 'Create an alias for a command, or change it',
  description:
    'An alias stands for the words of its expansion. In the expansion, $1 to $9 are replaced with the arguments of the alias; further arguments are appended. An expansion that starts with ! is run by a shell (sh), so it can contain pipes and other programs; there, $1 and "$@" are the arguments. Quote the expansion, so that your own shell leaves it unchanged. An alias cannot replace a built-in command, and it takes precedence over an extension with the same name.',
  arguments: {
    name: argument('The name of the alias'),
    expansion: argument('What it stands for, without aops; - reads it from standard input'),
  },
  options: {
    shell: flag('Run the expansion with a shell, as if it started with !', { short: 's' }),
    clobber: flag('Change an alias that exists'),
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: "aops alias set waiting 'runs list --status waiting'", text: 'aops waiting, aops waiting --all' },
    { command: "aops alias set mine 'runs list --agent $1 --since today'", text: 'aops mine invoice-check' },
    { command: `aops alias set oldest '!aops inbox -o id | head -1'`, text: 'A pipe, run by a shell' },
  ],
  result: returns({ name: 'string', expansion: 'string', shell: 'boolean', previous: 'string|null' }),
  output: textOutput<StoredAlias>(({ name, expansion, shell, previous }) => {
    const verb = previous === null ? 'Added' : 'Changed';
    return shell ? `${verb} the shell alias "${name}": ${shellLine(expansion)}` : `${verb} the alias "${name}": aops ${expansion}`;
  }),
  async run(context, input): Promise<StoredAlias> {
    const { name } = input;
    checkName(context, name);
    const expansion = await readExpansion(context, input);
    const shell = shellLine(expansion) !== undefined;
    const aliases = context.store.aliases();
    if (!shell) await checkTarget(context, name, expansion, aliases);
    const previous = Object.hasOwn(aliases, name) ? (aliases[name] as string) : null;
    if (previous !== null && previous !== expansion && !input.clobber)
      throw new UsageError(`The alias "${name}" already exists: ${previous}`, 'Change it with --clobber.', 'alias_exists');
    await context.store.setAlias(name, expansion);
    return { name, expansion, shell, previous };
  },
});

function checkName(context: Context, name: string): void {
  if (!/^[A-Za-z0-9][\w-]{0,63}$/.test(name))
    throw new UsageError(
      `"${name}" is not a valid name for an alias.`,
      'Use 1 to 64 letters, digits, hyphens, and underscores, beginning with a letter or a digit.',
    );
  if (isBuiltIn(commandsOf(context), name))
    throw new UsageError(`"${name}" is a command of aops, so an alias with that name would never be used.`);
}

async function readExpansion(context: Context, { expansion, shell }: { expansion: string; shell: boolean }): Promise<string> {
  const text = (expansion === '-' ? (await context.readStandardInput()).toString('utf8') : expansion).trim();
  if (text.replace(/^!/, '').trim() === '') throw new UsageError('The expansion is empty.');
  // A stored line break would be invisible in lists.
  if (/[\p{Cc}]/u.test(text))
    throw new UsageError(
      'The expansion contains line breaks or control characters.',
      'Put longer scripts into an extension: a program called aops-NAME on your PATH.',
    );
  return shell && !text.startsWith('!') ? `!${text}` : text;
}

/** An alias that leads nowhere would be noticed only when it is used. */
async function checkTarget(context: Context, name: string, expansion: string, aliases: Readonly<Record<string, string>>): Promise<void> {
  const words = expansionWords(expansion);
  const word = words[firstWordIndex(words) ?? words.length] ?? '';
  const isKnown =
    word.startsWith('$') ||
    isBuiltIn(commandsOf(context), word) ||
    (word !== name && Object.hasOwn(aliases, word)) ||
    (await findExtension({ env: context.env, platform: context.launcher.platform }, word)) !== undefined;
  if (isKnown) return;
  throw new UsageError(
    word === 'aops' ? 'The expansion of an alias starts without aops.' : `"${word}" is not a command of aops, an alias, or an extension.`,
    "Write it as you would after `aops`, such as 'runs list --status waiting'. For other programs, start it with !.",
  );
}
