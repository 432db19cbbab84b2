/** A git repository for one test, whose only commit contains the files of a folder. */
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import type { Environment } from '../../../config/paths.ts';

/** The settings of the user do not apply, so that the repository is the same everywhere. */
const settings = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'aops',
  GIT_AUTHOR_EMAIL: 'aops@localhost',
  GIT_COMMITTER_NAME: 'aops',
  GIT_COMMITTER_EMAIL: 'aops@localhost',
  // In UTC, at a fixed time, so that the commit has the same ID in every test.
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
};

/**
 * Copies a folder to `target`, which must not exist, and commits it there. Its own history, if any, is left out.
 * @throws UsageError if git is not installed; AopsError `repository_failed`
 */
export async function makeRepository(source: string, target: string, env: Environment, signal: AbortSignal): Promise<string> {
  await cp(source, target, { recursive: true, filter: (file) => path.basename(file) !== '.git' });
  const git = async (...args: string[]): Promise<void> => {
    try {
      await promisify(execFile)('git', args, { cwd: target, env: { PATH: env.PATH, HOME: target, ...settings }, signal });
    } catch (error) {
      signal.throwIfAborted();
      const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string };
      if (code === 'ENOENT') throw new UsageError('git is not installed, and the test needs a repository.');
      throw new AopsError(`A repository could not be made of ${source}: ${stderr.trim()}`, {
        code: 'repository_failed',
        exit: exitCodes.failure,
        cause: error,
      });
    }
  };
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('add', '--all', '--force');
  await git('commit', '--quiet', '--allow-empty', '--message', 'The files of the test');
  return target;
}
