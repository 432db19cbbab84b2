/** Finds what is needed to contain programs on this machine: bubblewrap and its options, the system folders, and Node. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { platform as thisPlatform } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { isProgram } from '../../base/program.ts';
import type { Machine } from './bubblewrap.ts';
import { ControlGroups } from './cgroups.ts';
import { missingBubblewrap, missingNode, type NamespaceFacts, type Shortfall, unsupportedPlatform } from './shortfall.ts';
import { systemEntries } from './system-folders.ts';

/** The folders in which systems usually install programs. */
const usualFolders = ['/usr/bin', '/usr/local/bin', '/bin'];
/** The user that root appears as, because some programs refuse to work as root. */
const ordinaryUser = 1_000;

export interface MachineOptions {
  dataDirectory: string;
  /** Folders in which bubblewrap and Node are searched for, in the format of PATH. */
  searchPath: string;
  /** The path of Node; by default, the first one on the search path. */
  node?: string | undefined;
  /** Folders that are searched after the search path; by default, the usual ones. */
  programFolders?: readonly string[] | undefined;
  /** As `os.platform()` names it; by default, that of this machine. */
  platform?: NodeJS.Platform | undefined;
}

/** Describes the machine, or what it lacks. Creates a folder with two files in the data directory. */
export async function findMachine(options: MachineOptions): Promise<Machine | Shortfall> {
  const platform = options.platform ?? thisPlatform();
  if (platform !== 'linux') return unsupportedPlatform(platform);
  const bubblewrap = await findProgram('bwrap', options);
  if (bubblewrap === undefined) return missingBubblewrap;
  const node = options.node ?? (await findProgram('node', options));
  if (node === undefined) return missingNode;
  // Linux has both, also for a user that it does not know otherwise.
  const [uid, gid] = [process.getuid?.() ?? ordinaryUser, process.getgid?.() ?? ordinaryUser];
  const identity = uid === 0 ? { user: ordinaryUser, group: ordinaryUser } : { user: uid, group: gid };
  const dataDirectory = await realpath(options.dataDirectory);
  const owner = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16);
  const folder = path.join(dataDirectory, 'contained');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Left behind by a service that was killed during its trial.
  for (const name of await readdir(folder))
    if (name.startsWith('trial-')) await rm(path.join(folder, name), { recursive: true, force: true });
  const accounts = { passwd: path.join(folder, 'passwd'), group: path.join(folder, 'group') };
  await writeFile(accounts.passwd, `user:x:${identity.user}:${identity.group}::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`, {
    mode: 0o644,
  });
  await writeFile(accounts.group, `user:x:${identity.group}:\nnogroup:x:65534:\n`, { mode: 0o644 });
  return {
    bubblewrap,
    options: await optionsOf(bubblewrap),
    system: systemEntries(),
    proc: new Set(await readdir('/proc')),
    identity,
    ...accounts,
    node: await realpath(node),
    groups: await ControlGroups.find(owner),
    dataDirectory,
  };
}

async function findProgram(name: string, { searchPath, programFolders = usualFolders }: MachineOptions): Promise<string | undefined> {
  const folders = [...searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder)), ...programFolders];
  for (const folder of folders) {
    const file = path.join(folder, name);
    if (await isProgram(file)) return file;
  }
  return undefined;
}

/** The long options that the help of bubblewrap lists. */
async function optionsOf(bubblewrap: string): Promise<Set<string>> {
  const { stdout, stderr } = await promisify(execFile)(bubblewrap, ['--help'], { env: {}, timeout: 5_000 }).catch(() => ({
    stdout: '',
    stderr: '',
  }));
  return new Set(`${stdout}${stderr}`.match(/--[a-z-]+/g) ?? []);
}

/** What the kernel and the machine report about user namespaces, for the explanation of a failure. */
export async function namespaceFacts(): Promise<NamespaceFacts> {
  const [maximum, unprivileged, restricted, container] = await Promise.all([
    setting('/proc/sys/user/max_user_namespaces'),
    setting('/proc/sys/kernel/unprivileged_userns_clone'),
    setting('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
    Promise.all(
      ['/.dockerenv', '/run/.containerenv'].map((file) =>
        readFile(file).then(
          () => true,
          () => false,
        ),
      ),
    ),
  ]);
  return {
    areDisabled: maximum === '0' || unprivileged === '0',
    areRestricted: restricted === '1',
    isContainer: container.includes(true),
  };
}

const setting = (file: string): Promise<string> =>
  readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
