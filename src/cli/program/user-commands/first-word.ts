/** The first word of a command line, which names a command. Pure, and loaded at every start. */
import { flagName, type Option } from '../../kit/flags.ts';
import { globalFlags } from '../../kit/global-flags.ts';

/** The index of the first word that is neither a global flag nor its value; undefined if there is none. */
export function firstWordIndex(args: readonly string[]): number | undefined {
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === '--') return undefined;
    if (!arg.startsWith('-')) return index;
    if (needsValue(arg)) index += 1;
  }
  return undefined;
}

const options: readonly [string, Option][] = Object.entries(globalFlags);

const needsValue = (arg: string): boolean =>
  options.some(
    ([key, { metavar, short }]) => metavar !== undefined && (arg === flagName(key) || (short !== undefined && arg === `-${short}`)),
  );
