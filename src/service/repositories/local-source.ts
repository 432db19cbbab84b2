/**
 * Reads a repository on this machine, without changing anything in it: not its files, index, refs, or configuration. Its
 * configuration is not trusted, although the person who names it owns the data directory: the folder might have been downloaded.
 */
import { stat } from 'node:fs/promises';
import { ServiceError } from '../errors.ts';
import { type Git, type GitResult, textOf } from './git.ts';
import { gitFailure } from './problems.ts';
import type { RepositorySource } from './source.ts';

/** The commit that a run starts from, and where it is. */
export interface Base {
  /** The top folder of the repository. */
  location: string;
  commit: string;
  /** The branch, if the ref is a branch. */
  branch: string | undefined;
  /** The number of files with uncommitted changes; 0 if the source specifies a ref. */
  uncommitted: number;
}

const sourceError = (code: string, message: string): ServiceError =>
  new ServiceError(400, code, message, { details: [{ path: 'repository', message }] });

/** Resolves the source to a commit. Throws 400 if the folder is not a repository, belongs to another user, or does not contain the ref. */
export async function readLocalBase(git: Git, source: RepositorySource, signal: AbortSignal): Promise<Base> {
  const { location, ref } = source;
  const stats = await stat(location).catch(() => undefined);
  if (stats === undefined) throw sourceError('repository_not_found', `There is no folder ${location} on the machine of the service.`);
  if (!stats.isDirectory()) throw sourceError('not_a_repository', `${location} is not a folder.`);
  const run = (args: readonly string[]): Promise<GitResult> => git.run(args, { cwd: location, signal, task: `reading ${location}` });
  const layout = await run(['rev-parse', '--is-bare-repository', '--absolute-git-dir']);
  if (layout.code !== 0) throw notReadable(location, layout);
  const [bare, gitFolder = location] = textOf(layout.stdout).split('\n');
  const isBare = bare === 'true';
  const top = isBare ? undefined : await run(['rev-parse', '--show-toplevel']);
  const commit = await run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref ?? 'HEAD'}^{commit}`]);
  if (commit.code === null) throw gitFailure(`reading ${location}`, commit);
  if (commit.code !== 0) throw await missingRef(run, source);
  const name = await run(['rev-parse', '--symbolic-full-name', '--end-of-options', ref ?? 'HEAD']);
  const branch = /^refs\/heads\/(.+)$/m.exec(textOf(name.stdout))?.[1];
  return {
    location: top === undefined ? gitFolder : textOf(top.stdout).replace(/\n$/, ''),
    commit: commit.stdout.trim(),
    branch,
    uncommitted: isBare || ref !== undefined ? 0 : await countUncommitted(git, location, signal),
  };
}

function notReadable(location: string, result: GitResult): Error {
  if (/dubious ownership/.test(result.stderr))
    return sourceError(
      'repository_of_another_user',
      `${location} does not belong to the user of the service. Start the service as the owner of the folder, or start the run with a copy of the repository that belongs to the user of the service.`,
    );
  if (/not a git repository/.test(result.stderr))
    return sourceError(
      'not_a_repository',
      `${location} is not a git repository. Create one with \`git init\` and a first commit, or use --upload for files without one.`,
    );
  return gitFailure(`reading ${location}`, result);
}

async function missingRef(run: (args: readonly string[]) => Promise<GitResult>, source: RepositorySource): Promise<Error> {
  const anyCommit = await run(['rev-list', '--all', '--max-count=1']);
  if (anyCommit.code === 0 && anyCommit.stdout.trim() === '')
    return sourceError('repository_empty', `${source.location} has no commit yet. Create the first one with \`git commit\`.`);
  if (source.ref === undefined)
    return sourceError(
      'repository_empty',
      `The branch that is checked out in ${source.location} has no commit yet. Specify another branch: ${source.location}#BRANCH.`,
    );
  return sourceError(
    'ref_not_found',
    `There is no branch, tag, or commit ${source.ref} in ${source.location}. List its branches and tags with \`git branch --all\` and \`git tag\`.`,
  );
}

/** Counts the files that `git status` lists. Files of submodules are not counted. */
async function countUncommitted(git: Git, location: string, signal: AbortSignal): Promise<number> {
  const overrides = await withoutFilters(git, location, signal);
  const status = await git.run([...overrides, 'status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=all'], {
    cwd: location,
    signal,
    task: `looking for uncommitted work in ${location}`,
  });
  if (status.code !== 0) throw gitFailure(`looking for uncommitted work in ${location}`, status);
  return status.stdout.split('\0').filter((entry) => entry !== '').length;
}

/** Configuration that disables all programs through which a repository passes the content of files. */
async function withoutFilters(git: Git, location: string, signal: AbortSignal): Promise<string[]> {
  const { stdout } = await git.run(['config', '-z', '--name-only', '--get-regexp', '^filter\\.'], { cwd: location, signal });
  const names = new Set(stdout.split('\0').map((key) => key.slice(0, Math.max(0, key.lastIndexOf('.')))));
  return [...names]
    .filter((name) => name !== '')
    .flatMap((name) => ['clean=', 'smudge=', 'process=', 'required=false'].map((rest) => `${textOf(name)}.${rest}`))
    .flatMap((setting) => ['-c', setting]);
}
