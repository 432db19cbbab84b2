/** Turns failures of git into errors that say what to do. Pure. */
import { formatDuration } from '../../base/duration.ts';
import { shorten } from '../../base/values.ts';
import { ServiceError } from '../errors.ts';

/** How a call of git ended. */
export interface GitEnd {
  /** Null if a signal terminated git. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** At most the last 64 KiB. */
  stderr: string;
}

export const missingGitError = (): ServiceError =>
  new ServiceError(
    409,
    'git_not_found',
    'git is not installed on the machine of the service, or is not in its PATH. Install it (`apt-get install git`, `brew install git`), and start another run.',
  );

export const timeLimitError = (task: string, limit: number): ServiceError =>
  new ServiceError(
    409,
    'git_timed_out',
    `git was stopped after ${formatDuration(limit)} while ${task}. If the repository is that large, clone it on the machine of the service, and start the run with the path of the clone.`,
  );

export const outdatedGitError = (version: string, neededVersion: string, use: string): ServiceError =>
  new ServiceError(
    409,
    'git_outdated',
    `The service has git ${version}, which is too old for ${use}: they require git ${neededVersion} or later.`,
  );

/** Codes of problems of the host, after which the run is retried (host-trouble.ts). */
const hostCodes: readonly [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/, 'ENOSPC'],
  [/Too many open files/, 'EMFILE'],
  [/Cannot allocate memory|Out of memory|unable to create threaded|Resource temporarily unavailable/, 'ENOMEM'],
  [/Input\/output error|Read-only file system/, 'EIO'],
];

const remoteProblems: readonly [RegExp, code: string, message: string][] = [
  [
    /could not read Username|could not read Password|Authentication failed|requested URL returned error: 40[13]/,
    'repository_needs_sign_in',
    'the server requires a sign-in, and the service has no credentials for it. Clone it on the machine of the service, and start the run with the path of the clone',
  ],
  [
    /requested URL returned error: 30\d|unable to update url base from redirection/,
    'repository_redirected',
    'the server redirects to another address, and redirects are not followed. Use the address to which it redirects',
  ],
  [
    /repository '.*' not found|requested URL returned error: 404|requested URL returned error: 410/,
    'repository_not_found',
    'it does not exist',
  ],
  [/Could not resolve host/, 'repository_unreachable', 'the host name could not be found'],
  [/Connection refused|Failed to connect|Could not connect/, 'repository_unreachable', 'the connection failed'],
  [/SSL|certificate|TLS/i, 'repository_unreachable', 'the certificate of the server was not accepted'],
  [/timed out|Operation too slow/i, 'repository_unreachable', 'the server did not respond in time'],
  [
    /not our ref|Server does not allow request for unadvertised object|no matching remote head/,
    'ref_not_found',
    'the server does not have that commit, or does not let clients fetch it by its ID. Use a branch or a tag',
  ],
  [
    /not valid: is this a git repository|unexpected end of file|expected flush|invalid server response|bad line length/,
    'not_a_repository',
    'it is not a git repository',
  ],
];

/** The error for a call of git that failed. @param task such as `fetching /home/me/shop` */
export function gitFailure(task: string, { code, signal, stderr }: GitEnd): Error {
  const hostCode = hostCodes.find(([pattern]) => pattern.test(stderr))?.[1];
  if (hostCode !== undefined) return Object.assign(new Error(`git failed while ${task}`), { code: hostCode });
  if (code === null) {
    return new ServiceError(409, 'git_killed', `git was terminated by ${signal ?? 'a signal'} while ${task}. Start another run.`);
  }
  const [, word, reason] = remoteProblems.find(([pattern]) => pattern.test(stderr)) ?? [];
  if (word !== undefined) return new ServiceError(400, word, `git failed while ${task}: ${reason}.`);
  return new ServiceError(409, 'git_failed', `git failed while ${task}: ${summaryOf(stderr) || `it ended with exit code ${code}`}.`);
}

/** The lines in which git reports the problem, joined into one line. */
function summaryOf(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const problems = lines.filter((line) => /^(fatal|error|remote): /.test(line));
  const text = (problems.length > 0 ? problems : lines).filter((line) => line !== '').join('; ');
  return shorten(text.replace(/\.$/, ''), 500);
}
