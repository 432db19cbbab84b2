/** The check of `aops doctor` whether runs of a local service can open pages: that needs a browser and a library. */
import type { Context } from '../../cli/kit/context.ts';
import { type Check, ok, warn } from './check.ts';

export async function browserCheck({ env }: Context): Promise<Check> {
  const { findChromium, requireBrowserLibrary, ServiceError } = await import('../../service/service.ts');
  try {
    const executable = await findChromium({
      policy: 'on',
      searchPath: env.PATH ?? '',
      ...(env.AOPS_CHROMIUM ? { executable: env.AOPS_CHROMIUM } : {}),
    });
    requireBrowserLibrary();
    return ok('browser', executable);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return warn('browser', 'not available for runs', `Only \`browse\` steps and PDF exports need one: ${error.message}`);
  }
}
