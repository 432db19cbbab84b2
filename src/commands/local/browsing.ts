/** The flags that say whether runs of a service may browse, and with what. */
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { isProgram } from '../../base/program.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, text } from '../../cli/kit/flags.ts';
import type { BrowsePolicy } from '../../service/service.ts';

const policies = ['on', 'public', 'off'] as const satisfies readonly BrowsePolicy[];

export const browsingOptions = (byDefault: BrowsePolicy) =>
  ({
    browse: choice(policies, `Whether runs may open pages in a browser: anywhere, at public addresses, not at all (default ${byDefault})`),
    chromium: text('PATH', 'Browse with this Chromium (default: one that is installed)', { complete: 'files' }),
  }) as const;

/** The browser that the flag or the environment names. @throws UsageError when it is no program */
export async function namedChromium(context: Context, given: string | undefined): Promise<string | undefined> {
  const named = given ?? context.env.AOPS_CHROMIUM;
  if (named === undefined || named === '') return undefined;
  const file = path.resolve(context.cwd, named);
  if (await isProgram(file)) return file;
  const source = given === undefined ? 'AOPS_CHROMIUM' : '--chromium';
  throw new UsageError(
    `${source} names ${file}, which is no program.`,
    'Give the path of a Chromium, Chrome or Edge, such as /usr/bin/chromium.',
  );
}
