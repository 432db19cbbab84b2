/** What `aops doctor` looks at on this machine: Node, folders, the local service, completion, open changes. */
import { constants } from 'node:fs';
import { access, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { crypto } from '../../base/crypto.ts';
import { AopsError } from '../../base/errors.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { openChanges } from '../../cli/connect/journal.ts';
import { readState, runningService, stateFile } from '../../cli/connect/local-state.ts';
import type { Context } from '../../cli/kit/context.ts';
import { formatSize } from '../../terminal/size.ts';
import { type Check, fail, failed, ok, skip, warn } from './check.ts';

/** The first version that aops runs on; as in package.json. */
const oldestNode = [20, 19] as const;

export async function machineChecks(context: Context): Promise<Check[]> {
  return [
    nodeCheck(context),
    ...(await Promise.all([
      folderCheck(context),
      spaceCheck(context),
      localCheck(context),
      completionCheck(context),
      changesCheck(context),
    ])),
  ];
}

function nodeCheck({ launcher: { nodeVersion } }: Context): Check {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const recent = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  return recent ? ok('node', nodeVersion) : fail('node', `${nodeVersion} is too old`, `Install Node ${oldestNode.join('.')} or later.`);
}

/** Each folder has to take a file; where it is not there yet, the nearest one above it has to be writable. */
async function folderCheck({ paths }: Context): Promise<Check> {
  for (const folder of [paths.config, paths.data, paths.cache]) {
    const there = await existing(folder);
    const refused = there === folder ? await refusal(folder) : undefined;
    if (refused !== undefined) return refused;
    try {
      await access(there, constants.W_OK);
    } catch {
      return fail(
        'folders',
        `${folder} cannot be written to`,
        `Make ${there} writable, or set AOPS_CONFIG_DIR, AOPS_DATA_DIR and AOPS_CACHE_DIR.`,
      );
    }
  }
  return ok('folders', `${paths.config}, ${paths.data}, ${paths.cache}`);
}

/** Bytes below which the disk of the data is as good as full: a service needs some to save anything. */
const littleSpace = 200 * 1024 * 1024;

/** How much room there is for the data of a service that runs here. */
async function spaceCheck({ paths }: Context): Promise<Check> {
  const folder = await existing(paths.data);
  const space = await statfs(folder).catch(() => undefined);
  if (space === undefined) return skip('disk', `the free space of ${folder} is not known`);
  const free = space.bavail * space.bsize;
  const detail = `${formatSize(free)} free for ${paths.data}`;
  if (free >= littleSpace) return ok('disk', detail);
  const advice =
    'Make room on that disk. A service that cannot save anything answers `disk_full`; its runs continue by themselves once there is space.';
  return free < 1024 * 1024 ? fail('disk', detail, advice) : warn('disk', detail, advice);
}

/** Why a folder takes no file: permissions do not tell of a disk that is full. */
async function refusal(folder: string): Promise<Check | undefined> {
  const probe = path.join(folder, `.doctor-${crypto().randomUUID()}`);
  try {
    await writeFile(probe, 'x'.repeat(1_024), { flag: 'wx', mode: 0o600 });
    return undefined;
  } catch (error) {
    const told = writeFailure(error, folder);
    return told instanceof AopsError && !['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
      ? failed('folders', told)
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
    const above = path.dirname(folder);
    return above === folder ? folder : existing(above);
  }
}

async function localCheck(context: Context): Promise<Check> {
  try {
    const running = await runningService(context);
    if (running) return ok('local service', `runs at ${running.url}, data in ${running.data_dir}`);
    const state = await readState(stateFile(context));
    if (!state) return ok('local service', 'not started');
    return warn(
      'local service',
      `was at ${state.url} and does not answer`,
      'Start it again with `aops local up`; it goes on where it was.',
    );
  } catch (error) {
    return failed('local service', error);
  }
}

/** Where each shell is told of completions. */
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

async function completionCheck({ env }: Context): Promise<Check> {
  const shell = path.basename(env.SHELL ?? '');
  const home = env.HOME ?? os.homedir();
  const own = completionFiles[shell];
  if (!own) return ok('completion', shell === '' ? 'the shell is not known' : `not looked for in ${shell}`);
  for (const file of [...own.map((name) => path.join(home, name)), ...(sharedCompletionFiles[shell] ?? [])]) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (/\baops completion\b|\b_{1,2}aops/.test(text)) return ok('completion', `${shell}, by ${file}`);
  }
  return warn('completion', `not set up for ${shell}`, `See \`aops completion --help\`: one line in the start-up file of ${shell}.`);
}

async function changesCheck(context: Context): Promise<Check> {
  try {
    const open = await openChanges(context);
    if (open.length === 0) return ok('open changes', 'none');
    return warn('open changes', `${open.length} with an unknown outcome`, 'List and settle them with `aops retry`.');
  } catch (error) {
    return failed('open changes', error);
  }
}
