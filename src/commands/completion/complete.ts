import { isUuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { anyArguments, type CompletionSource } from '../../cli/kit/flags.ts';
import { commandsOf } from '../../cli/kit/tree.ts';
import type { Word } from '../../cli/picking/sources.ts';
import { firstWordIndex } from '../../cli/program/user-commands/first-word.ts';
import { type Candidates, candidates, candidateText, type KnownCandidates, type Line, lineOf } from './candidates.ts';
import { type CommandWords, commandWords, type LookedUpSource } from './command-words.ts';

/** Called by the completion scripts with the words of the line, of which the last is being completed. `quick.ts` answers most of them. */
export default defineCommand({
  summary: 'Complete a command line',
  hidden: true,
  arguments: { words: anyArguments('The words of the line; the last one can be empty') },
  examples: [{ command: 'aops __complete -- runs st', text: 'Complete "runs st"' }],
  async run(context, input) {
    const line = lineOf(input.words);
    const commands = await commandWords(() => commandsOf(context));
    const offer = await lookedUp(context, commands, line, candidates(commands, line));
    await context.terminal.write(candidateText(offer, line));
  },
});

async function lookedUp(context: Context, commands: CommandWords, line: Line, known: KnownCandidates): Promise<Candidates> {
  const { words, lookUp } = known;
  if (lookUp === undefined) return known;
  if (lookUp === 'user commands') return { words: [...words, ...(await userCommandWords(context))] };
  if (lookUp === 'user command') return afterUserCommand(context, commands, line);
  return { words: await wordsOf(context, lookUp.source, lookUp.of, line) };
}

/** The user's aliases and extensions. */
async function userCommandWords(context: Context): Promise<Word[]> {
  const { userCommands } = await import('../../cli/program/user-commands/resolve.ts');
  const host = { env: context.env, platform: context.launcher.platform };
  const { aliases, extensions } = await userCommands(host, () => context.store.aliases(), commandsOf(context));
  return [
    ...aliases.map(([name, expansion]): Word => [name, `alias for ${expansion}`]),
    ...extensions.map(([name]): Word => [name, `extension aops-${name}`]),
  ];
}

/** Completes what an alias stands for. For other programs, which are extensions and aliases for the shell, files are offered. */
async function afterUserCommand(context: Context, commands: CommandWords, line: Line): Promise<Candidates> {
  const index = firstWordIndex(line.before) ?? 0;
  const name = line.before[index] ?? '';
  const [{ expandAlias, shellLine }, { findExtension }] = await Promise.all([
    import('../../cli/program/user-commands/expand.ts'),
    import('../../cli/program/user-commands/extensions.ts'),
  ]);
  const { store, env, launcher } = context;
  try {
    const aliases = store.aliases();
    const expansion = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
    if (expansion === undefined) {
      const extension = await findExtension({ env, platform: launcher.platform }, name);
      return extension === undefined ? { words: [] } : { words: [], paths: 'files' };
    }
    if (shellLine(expansion) !== undefined) return { words: [], paths: 'files' };
    const meant = { ...line, before: [...line.before.slice(0, index), ...expandAlias(name, expansion, line.before.slice(index + 1))] };
    const known = candidates(commands, meant);
    // An alias for another alias is not followed: it could stand for itself.
    return known.lookUp === 'user command' ? { words: [] } : await lookedUp(context, commands, meant, known);
  } catch {
    // An argument of the alias is still missing, or the configuration cannot be read.
    return { words: [] };
  }
}

/** Values that need no request, because completion never waits for the network. IDs and names come from a cache. */
async function wordsOf(context: Context, source: LookedUpSource, of: string | undefined, { before, current }: Line): Promise<Word[]> {
  if (source === 'profiles') return context.store.profiles().map(({ name, base_url }) => [name, base_url]);
  if (source === 'aliases') return Object.entries(context.store.aliases());
  const { remoteWords } = await import('./remote.ts');
  const words = await remoteWords(context, source, before, of);
  // Revision numbers are offered once the agent is complete.
  if (source === 'revisions' && !current.includes('@')) return words.filter(([word]) => !/@\d+$/.test(word));
  // Each run is offered once: by its number, or by its ID if the word begins like one.
  const offered = source === 'runs' && !isIdBegun(current) && words.some(isNumber) ? words.filter(isNumber) : words;
  const latest = latestOf[source];
  return latest === undefined ? offered : [['@latest', latest], ...offered];
}

const isNumber = ([word]: Word): boolean => !isUuid(word);

/** Whether a word can only be the beginning of an ID: numbers have no letters, do not begin with 0, and are shorter. */
const isIdBegun = (word: string): boolean => /^[0-9a-f-]+$/i.test(word) && !/^[1-9]\d{0,6}$/.test(word);

/** The summary of `@latest` for the sources that support it. */
const latestOf: Partial<Record<CompletionSource, string>> = { runs: 'the newest run', artifacts: 'the newest artifact' };
