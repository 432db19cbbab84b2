/** The checks of `aops doctor` on this machine: Node, git, folders, disk space, the local service, completion and open changes. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crypto } from '../../base/crypto.ts';
import { AopsError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { openChanges } from '../../cli/connect/journal.ts';
import { readState, runningService, stateFile } from '../../cli/connect/local-state.ts';
import type { Context } from '../../cli/kit/context.ts';
import { homeFolder } from '../../config/paths.ts';
import { formatSize } from '../../terminal/size.ts';
import { browserCheck } from './browser.ts';
import { type Check, fail, failedCheck, ok, skip, warn } from './check.ts';
import { containmentCheck } from './containment.ts';

/** The oldest supported version, as in package.json. */
const oldestNode = [20, 19] as const;

export async function machineChecks(context: Context): Promise<Check[]> {
  return [
    nodeCheck(context),
    ...(await Promise.all([
      gitCheck(context),
      folderCheck(context),
      spaceCheck(context),
      localCheck(context),
      containmentCheck(context),
      browserCheck(context),
      completionCheck(context),
      changesCheck(context),
    ])),
  ];
}

function nodeCheck({ launcher: { nodeVersion } }: Context): Check {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const isRecent = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  return isRecent ? ok('node', nodeVersion) : fail('node', `${nodeVersion} is too old`, `Install Node ${oldestNode.join('.')} or later.`);
}

/** The version that connects to given addresses, which a service needs for repositories at URLs. */
const oldestGit = [2, 37] as const;

/** Checks for git, which runs with a repository need. */
async function gitCheck({ env }: Context): Promise<Check> {
  const output = await gitVersion(env);
  const hint = `Install git ${oldestGit.join('.')} or later. Only \`aops runs start --repo\` and \`aops sandbox apply\` need it.`;
  const [version, major, minor] = /(\d+)\.(\d+)[\d.]*/.exec(output ?? '') ?? [];
  if (version === undefined) return warn('git', 'not found in your PATH', hint);
  const isRecent = Number(major) > oldestGit[0] || (Number(major) === oldestGit[0] && Number(minor) >= oldestGit[1]);
  return isRecent ? ok('git', version) : warn('git', `${version} is too old for repositories at URLs`, hint);
}

const gitVersion = (env: Context['env']): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile('git', ['--version'], { env: { ...env }, timeout: 10_000 }, (error, stdout) => resolve(error ? undefined : stdout));
  });

/** Checks that a file can be created in each folder, or that the nearest existing folder above it is writable. */
async function folderCheck({ paths }: Context): Promise<Check> {
  for (const folder of [paths.config, paths.data, paths.cache]) {
    const nearest = await existing(folder);
    const refusalReason = nearest === folder ? await refusal(folder) : undefined;
    if (refusalReason !== undefined) return refusalReason;
    try {
      await access(nearest, constants.W_OK);
    } catch {
      return fail(
        'folders',
        `${folder} cannot be written to`,
        `Make ${nearest} writable, or set AOPS_CONFIG_DIR, AOPS_DATA_DIR, and AOPS_CACHE_DIR.`,
      );
    }
  }
  return ok('folders', `${paths.config}, ${paths.data}, ${paths.cache}`);
}

/** With less free space, in bytes, the disk is considered full: a service needs some to save anything. */
const minFreeBytes = 200 * 1024 * 1024;

/** Checks the free disk space for the data of a local service. */
async function spaceCheck({ paths }: Context): Promise<Check> {
  const folder = await existing(paths.data);
  const space = await statfs(folder).catch(() => undefined);
  if (space === undefined) return skip('disk', `the free space of ${folder} is unknown`);
  const free = space.bavail * space.bsize;
  const detail = `${formatSize(free)} free for ${paths.data}`;
  if (free >= minFreeBytes) return ok('disk', detail);
  const advice =
    'Free up space on that disk. A service that cannot save anything reports `disk_full`; its runs continue by themselves once there is space.';
  return free < 1024 * 1024 ? fail('disk', detail, advice) : warn('disk', detail, advice);
}

/** Why no file can be created in a folder, other than its permissions, for example because the disk is full. */
async function refusal(folder: string): Promise<Check | undefined> {
  const probe = path.join(folder, `.doctor-${crypto().randomUUID()}`);
  try {
    await writeFile(probe, 'x'.repeat(1_024), { flag: 'wx', mode: 0o600 });
    return undefined;
  } catch (error) {
    const failure = writeFailure(error, folder);
    return failure instanceof AopsError && !['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
      ? failedCheck('folders', failure)
      : undefined;
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}

async function existing(folder: string): Promise<string> {
  try {
    await access(folder);
    return folder;
  } catch {
    const parent = path.dirname(folder);
    return parent === folder ? folder : existing(parent);
  }
}

async function localCheck(context: Context): Promise<Check> {
  try {
    const running = await runningService(context);
    if (running) return ok('local service', `running at ${running.url}, data in ${running.data_dir}`);
    const state = await readState(stateFile(context));
    if (!state) return ok('local service', 'not started');
    return warn('local service', `does not respond at ${state.url}`, 'Start it again with `aops local up`; unfinished runs continue.');
  } catch (error) {
    return failedCheck('local service', error);
  }
}

/** The files in which each shell loads completions. */
const completionFiles: Record<string, readonly string[]> = {
  bash: ['.bashrc', '.bash_profile', '.profile', '.bash_completion', '.local/share/bash-completion/completions/aops'],
  zsh: ['.zshrc', '.zshenv', '.zprofile', '.zsh/completions/_aops', '.zfunc/_aops'],
  fish: ['.config/fish/completions/aops.fish', '.config/fish/config.fish'],
};
const sharedCompletionFiles: Record<string, readonly string[]> = {
  bash: ['/etc/bash_completion.d/aops', '/usr/share/bash-completion/completions/aops', '/usr/local/share/bash-completion/completions/aops'],
  zsh: ['/usr/share/zsh/site-functions/_aops', '/usr/local/share/zsh/site-functions/_aops'],
  fish: ['/usr/share/fish/vendor_completions.d/aops.fish'],
};

async function completionCheck({ env, launcher }: Context): Promise<Check> {
  const shell = path.basename(env.SHELL ?? '');
  const home = homeFolder(env, launcher.platform);
  const own = completionFiles[shell];
  if (!own) return ok('completion', shell === '' ? 'the shell is unknown' : `not checked for ${shell}`);
  const ownFiles = home === undefined ? [] : own.map((name) => path.join(home, name));
  for (const file of [...ownFiles, ...(sharedCompletionFiles[shell] ?? [])]) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (/\baops completion\b|\b_{1,2}aops/.test(text)) return ok('completion', `${shell}, in ${file}`);
  }
  return warn('completion', `not set up for ${shell}`, `Add a line to the start-up file of ${shell}; see \`aops completion --help\`.`);
}

async function changesCheck(context: Context): Promise<Check> {
  try {
    const open = await openChanges(context);
    if (open.length === 0) return ok('open changes', 'none');
    return warn('open changes', `${pluralize(open.length, 'change')} with an unknown outcome`, 'List and settle them with `aops retry`.');
  } catch (error) {
    return failedCheck('open changes', error);
  }
}
