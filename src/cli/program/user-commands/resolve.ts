/**
 * Commands that the user added: aliases and extensions. Loaded only for a word that is not a built-in command, so neither can replace one.
 */
import { UsageError } from '../../../base/errors.ts';
import type { Environment } from '../../../config/paths.ts';
import { resolveConfig } from '../../../config/resolve.ts';
import { ConfigStore } from '../../../config/store.ts';
import { flagVariables, selectedByConfig, selectedByFlags } from '../../connect/selection.ts';
import { flagName } from '../../kit/flags.ts';
import { type GlobalFlags, globalFlags } from '../../kit/global-flags.ts';
import { type Entries, entryOf } from '../../kit/tree.ts';
import type { Host } from '../host.ts';
import { addOptions, newParser, optionValues } from '../parser.ts';
import { pathsOf, projectOf } from '../session.ts';
import { expandAlias, shellLine } from './expand.ts';
import { findExtension, listExtensions } from './extensions.ts';
import { firstWordIndex } from './first-word.ts';
import type { ExternalProgram } from './run-external.ts';

/** What to do instead: run other arguments, or another program. */
export type UserCommand = { args: readonly string[] } | { program: ExternalProgram };

/** Words that are commands although the tree does not contain them. */
const otherCommands: readonly string[] = ['help', 'version'];

export const isBuiltIn = (tree: Entries, word: string): boolean => entryOf(tree, word) !== undefined || otherCommands.includes(word);

/** Follows aliases until a built-in command or another program is reached; undefined if the first word is neither an alias nor an extension. */
export async function resolveUserCommand(host: Host, tree: Entries, args: readonly string[]): Promise<UserCommand | undefined> {
  const aliases = aliasesOf(host);
  const seen: string[] = [];
  let current = args;
  for (;;) {
    const resolved = seen.length === 0 ? undefined : { args: current };
    const index = firstWordIndex(current);
    const word = index === undefined ? undefined : current[index];
    if (index === undefined || word === undefined || isBuiltIn(tree, word)) return resolved;
    const [before, after] = [current.slice(0, index), current.slice(index + 1)];
    const expansion = Object.hasOwn(aliases, word) ? aliases[word] : undefined;
    if (expansion === undefined) {
      const extension = await findExtension(host, word);
      if (extension === undefined) return resolved;
      const env = { ...(await environmentFor(host, before, word)), AOPS_EXTENSION: word };
      return { program: { name: `aops-${word}`, file: extension.path, args: after, env } };
    }
    if (seen.includes(word)) throw new UsageError(`The alias "${word}" refers to itself.`, 'Change it with `aops alias set --clobber`.');
    seen.push(word);
    const line = shellLine(expansion);
    if (line !== undefined) {
      const env = await environmentFor(host, before, word);
      return { program: { name: `The shell of the alias "${word}"`, file: 'sh', args: ['-c', line, 'aops', ...after], env } };
    }
    current = [...before, ...expandAlias(word, expansion, after)];
  }
}

/** Names and summaries of the user's commands, for help, completion and suggestions. Empty if the configuration cannot be read. */
export async function userCommands(
  host: Pick<Host, 'env' | 'platform'>,
  readAliases: () => Record<string, string>,
  tree: Entries,
): Promise<UserCommandList> {
  const aliases = Object.entries(unlessBroken(readAliases)).filter(([name]) => !isBuiltIn(tree, name));
  const aliasNames = new Set(aliases.map(([name]) => name));
  const extensions = (await listExtensions(host)).filter(({ name }) => !isBuiltIn(tree, name) && !aliasNames.has(name));
  return {
    aliases: aliases.map(([name, expansion]): [string, string] => [name, shellLine(expansion) ?? `aops ${expansion}`]),
    extensions: extensions.map(({ name, path }): [string, string] => [name, path]),
  };
}

export interface UserCommandList {
  /** Name and expansion. */
  aliases: readonly (readonly [string, string])[];
  /** Name and path. */
  extensions: readonly (readonly [string, string])[];
}

/** The same for the user of a host. */
export const userCommandsOf = (host: Host, tree: Entries): Promise<UserCommandList> => userCommands(host, () => aliasesOf(host), tree);

const aliasesOf = (host: Host): Record<string, string> => new ConfigStore(pathsOf(host).config).aliases();

function unlessBroken(readAliases: () => Record<string, string>): Record<string, string> {
  try {
    return readAliases();
  } catch {
    return {};
  }
}

/**
 * The environment of a program: aops itself as AOPS_BIN, and the profile, team and agent that commands use here. It contains no credential
 * that was not there before: `aops api` and `aops auth token` provide access.
 */
async function environmentFor(host: Host, before: readonly string[], word: string): Promise<Environment> {
  const parser = newParser('aops', '');
  addOptions(parser, globalFlags);
  parser.parseOptions([...before]);
  const flags = optionValues(globalFlags, parser.opts()) as GlobalFlags;
  const other = Object.entries(flags).find(([key, value]) => value !== undefined && value !== false && !(key in flagVariables));
  if (other)
    throw new UsageError(
      `${flagName(other[0])} is a flag of built-in commands, and "${word}" is another program.`,
      `If it accepts the flag, pass it after the name: aops ${word} ${flagName(other[0])}`,
    );
  const selected = { ...(await configuredVariables(host, flags)), ...selectedByFlags(flags) };
  return { ...host.env, ...selected, AOPS_BIN: host.argv[1] || host.execPath };
}

/** What the configuration selects; nothing if it is broken, which a program may be meant to repair. */
async function configuredVariables(host: Host, flags: GlobalFlags): Promise<Record<string, string>> {
  const project = await projectOf(host);
  try {
    const store = new ConfigStore(pathsOf(host).config);
    return selectedByConfig(resolveConfig({ flags, env: host.env, store, project }));
  } catch {
    return {};
  }
}
