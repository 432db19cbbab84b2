/** The value of `runs start --repo`: a folder or a URL, with an optional ref after `#`. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import { pluralize } from '../../base/pluralize.ts';
import { shellWord } from '../../base/shell.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Body, RunRepository } from '../../interface/types.ts';

type Source = NonNullable<Body<'startRun'>['repository']>;

/**
 * The repository in the body of a request. A folder becomes an absolute path, which the service reads.
 * @param baseUrl the service
 * @throws UsageError for an address that is not http or https, a folder that does not exist, or a service on another machine
 */
export async function repositorySource({ cwd }: Pick<Context, 'cwd'>, text: string, baseUrl: string): Promise<Source> {
  if (/^https?:\/\//i.test(text)) {
    const [url, ref] = splitRef(text, text.indexOf('#'));
    return { url, ...ref };
  }
  if (/^[a-z][a-z0-9+.-]*:(?:\/\/|:)/i.test(text)) throw otherTransport(text);
  const whole = path.resolve(cwd, text);
  const isFolder = (folder: string): Promise<boolean> =>
    stat(folder).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
  // A folder can have # in its name.
  const [name, ref] = (await isFolder(whole)) ? [text, {}] : splitRef(text, text.lastIndexOf('#'));
  const folder = path.resolve(cwd, name === '' ? '.' : name);
  if (!(await isFolder(folder))) {
    if (/^[\w.-]+@[\w.-]+:/.test(text)) throw otherTransport(text);
    throw new UsageError(
      `--repo: there is no folder ${folder}.`,
      'Specify a folder with a git repository, or an https URL. A branch, a tag, or a commit follows after #: --repo .#main',
    );
  }
  if (!isLoopback(new URL(baseUrl).hostname))
    throw new UsageError(
      `--repo: ${folder} is a folder of this machine, and the service is on another one.`,
      'Push the repository to a server that the service can reach, and specify its URL.',
    );
  return { path: folder, ...ref };
}

/** The parts before and after a #, if there is one. */
function splitRef(text: string, position: number): [string, { ref?: string }] {
  if (position < 0) return [text, {}];
  const ref = text.slice(position + 1);
  if (ref === '') throw new UsageError('--repo: nothing follows #.', 'Specify a branch, a tag, or a commit after it, or leave it out.');
  return [text.slice(0, position), { ref }];
}

function otherTransport(text: string): UsageError {
  const [, host, file] = /^(?:ssh:\/\/)?(?:[\w.-]+@)?([\w.-]+)[:/](.+)$/.exec(text) ?? [];
  const url = host === undefined || /^file:/i.test(text) ? 'https://HOST/PATH' : `https://${host}/${file}`;
  return new UsageError(
    `--repo: "${text}" is not a folder, and not an http or https URL.`,
    `The service reads repositories from folders, and from servers with http and https: --repo ${shellWord(url)}. If the server requires a sign-in, clone the repository, and specify the folder.`,
  );
}

export const repositoriesNotOffered = (): AopsError =>
  new AopsError('This service does not offer runs with a repository. No run was started.', {
    code: 'not_offered',
    exit: exitCodes.notFound,
    hint: 'The local service offers them (`aops local up`), but other services might not. Use --upload to give the run files.',
  });

/** What a person should know about work that the run does not see; undefined if it sees everything. */
export function uncommittedNote({ uncommitted_files: count, source }: RunRepository): string | undefined {
  if (count === 0) return undefined;
  const folder = shellWord(source);
  return `Uncommitted work in ${pluralize(count, 'file')} of ${source} is not included. To include changes of tracked files without committing them to a branch: --repo ${folder}#$(git -C ${folder} stash create)`;
}
