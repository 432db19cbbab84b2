/** What an alias stands for. Pure. */
import { UsageError } from '../../../base/errors.ts';
import { splitWords } from '../../../base/shell.ts';

/** The command line of a shell alias, whose expansion starts with `!`; undefined for other aliases. */
export const shellLine = (expansion: string): string | undefined => (expansion.startsWith('!') ? expansion.slice(1).trim() : undefined);

/** The words of an expansion. @throws UsageError for one that only a shell understands */
export function expansionWords(expansion: string): string[] {
  try {
    return splitWords(expansion, { placeholders: true });
  } catch (error) {
    throw new UsageError(
      `The expansion ${(error as Error).message}.`,
      'To run it with a shell, start it with ! (or pass --shell), and write `aops` in front of its commands.',
    );
  }
}

/**
 * The arguments that an alias with these arguments stands for, as in gh: `$1` is the first argument, and arguments without a
 * placeholder are appended.
 * @throws UsageError `alias_arguments_missing` if there are fewer arguments than placeholders
 */
export function expandAlias(name: string, expansion: string, args: readonly string[]): string[] {
  const words = expansionWords(expansion);
  const numbers = [...words.join(' ').matchAll(placeholder)].map(([, number]) => Number(number));
  const needed = Math.max(0, ...numbers);
  if (needed > args.length)
    throw new UsageError(
      `The alias "${name}" needs ${needed === 1 ? 'an argument' : `${needed} arguments`}.`,
      `It stands for: aops ${expansion}`,
      'alias_arguments_missing',
    );
  const filledWords = words.map((word) => word.replace(placeholder, (_, number: string) => args[Number(number) - 1] as string));
  return [...filledWords, ...args.filter((_, index) => !numbers.includes(index + 1))];
}

const placeholder = /\$([1-9])/g;
