/** The flags for browsing: whether runs can open pages, and in which browser. */
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { isProgram } from '../../base/program.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, text } from '../../cli/kit/flags.ts';
import type { BrowsePolicy } from '../../service/service.ts';

const policies = ['on', 'public', 'off'] as const satisfies readonly BrowsePolicy[];

export const browsingOptions = (byDefault: BrowsePolicy) =>
  ({
    browse: choice(
      policies,
      `Allow runs to open pages in a browser: anywhere (on), only at public addresses, or not at all (default: ${byDefault})`,
    ),
    chromium: text('PATH', 'Browse with this Chromium (default: an installed one)', { complete: 'files' }),
  }) as const;

/** The browser from the flag or the environment. @throws UsageError when it is not an executable */
export async function namedChromium(context: Context, flag: string | undefined): Promise<string | undefined> {
  const executable = flag ?? context.env.AOPS_CHROMIUM;
  if (executable === undefined || executable === '') return undefined;
  const file = path.resolve(context.cwd, executable);
  if (await isProgram(file)) return file;
  const source = flag === undefined ? 'AOPS_CHROMIUM' : '--chromium';
  throw new UsageError(
    `${source} refers to ${file}, which is not an executable.`,
    'Specify the path of Chromium, Chrome, or Edge, such as /usr/bin/chromium.',
  );
}
