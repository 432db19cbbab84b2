/** The check of `aops doctor` whether commands of runs can be confined on this machine: by trying it. */
import { removeTree } from '../../base/remove-tree.ts';
import { makeTemporaryFolder } from '../../base/temporary-folder.ts';
import { execInWords, runningService } from '../../cli/connect/local-state.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type Check, failedCheck, ok, warn } from './check.ts';

/** Reports the level of the running service, or tries what a service would. */
export async function containmentCheck(context: Context): Promise<Check> {
  try {
    const running = await runningService(context);
    if (running?.exec_problem !== undefined) return warn('commands', execInWords(running), running.exec_hint ?? '');
    if (running !== undefined) return ok('commands', execInWords(running));
    const { trialShortfall } = await import('../../service/service.ts');
    const folder = await makeTemporaryFolder('aops-doctor-');
    try {
      const shortfall = await trialShortfall({
        dataDirectory: folder,
        searchPath: context.env.PATH ?? '',
        node: context.launcher.executable,
      });
      if (shortfall === undefined) return ok('commands', 'can be contained on this machine (tested)');
      return warn('commands', `cannot be contained: ${shortfall.missing}`, shortfall.remedy);
    } finally {
      await removeTree(folder);
    }
  } catch (error) {
    return failedCheck('commands', error);
  }
}
