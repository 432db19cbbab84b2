/** Repositories of git for tests, with fixed names and times, so that the IDs of their commits are always the same. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const person = { NAME: 'Ada', EMAIL: 'ada@example.com', DATE: '2026-01-02T03:04:05Z' };
const variables = (['AUTHOR', 'COMMITTER'] as const).flatMap((role) =>
  Object.entries(person).map(([field, value]) => [`GIT_${role}_${field}`, value] as const),
);

/** The environment of git: no configuration of this machine applies. */
export const gitEnvironment: Record<string, string> = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  LC_ALL: 'C',
  ...Object.fromEntries(variables),
};

/** Commits everything with the first argument as the message. Maintenance would start further processes after each commit. */
const commitAll = 'git add --all; git -c maintenance.auto=false commit --quiet --allow-empty --message "$1"';

export class TestRepository {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Runs git in the folder and returns its standard output. @throws Error for an exit code other than 0 */
  async git(...args: string[]): Promise<string> {
    const { stdout } = await run('git', args, { cwd: this.folder, env: gitEnvironment, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  }

  /** Writes files and returns nothing; `null` removes one. */
  async write(files: Record<string, string | Uint8Array | null>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(this.folder, name);
      if (content === null) await rm(file);
      else {
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, content);
      }
    }
  }

  /** Commits everything, and returns the ID of the commit. */
  async commit(message: string, files: Record<string, string | Uint8Array | null> = {}): Promise<string> {
    await this.write(files);
    return (await this.shell(`${commitAll}; git rev-parse HEAD`, message)).trim();
  }

  /** Commits everything. */
  async commitAll(message: string, files: Record<string, string | Uint8Array | null>): Promise<void> {
    await this.write(files);
    await this.shell(commitAll, message);
  }

  /**
   * Runs several commands with one process of this one, whose memory makes starting another expensive, and returns their standard
   * output. @throws Error if one fails
   */
  async shell(commands: string, ...args: string[]): Promise<string> {
    const { stdout } = await run('/bin/sh', ['-ec', commands, 'sh', ...args], { cwd: this.folder, env: gitEnvironment });
    return stdout;
  }
}

/** Creates a repository in a folder, with the branch `main` and a first commit of these files, if any. */
export async function newRepository(
  folder: string,
  files?: Record<string, string | Uint8Array>,
  options: readonly string[] = [],
): Promise<TestRepository> {
  await mkdir(folder, { recursive: true });
  const repository = new TestRepository(folder);
  if (files !== undefined) await repository.write(files);
  // The usual template consists of examples of hooks.
  const init = 'message=$1; shift; git init --quiet --template= --initial-branch=main "$@"';
  await repository.shell(files === undefined ? init : `${init}; set -- "$message"; ${commitAll}`, 'Start', ...options);
  return repository;
}
