/**
 * The arguments with which bubblewrap confines a program: deny by default. The program sees only the system folders and what
 * the request lists; it has its own processes, network, /proc, /dev, and /tmp, has no capabilities, and ends with the service.
 */
import path from 'node:path';
import { ServiceError } from '../errors.ts';
import type { LaunchLimits, LaunchRequest } from '../sandbox/launch.ts';
import type { ControlGroups } from './cgroups.ts';
import { isWithin, networkSettings, type SystemEntry } from './system-folders.ts';

/** What the machine and its bubblewrap support. */
export interface Machine {
  /** The path of bubblewrap. */
  bubblewrap: string;
  /** The options of this bubblewrap. Old versions lack `--size` and `--disable-userns`. */
  options: ReadonlySet<string>;
  system: readonly SystemEntry[];
  /** Entries of the host's /proc. */
  proc: ReadonlySet<string>;
  /** The program's user and group inside the sandbox. */
  identity: { user: number; group: number };
  /** Files that replace /etc/passwd and /etc/group. */
  passwd: string;
  group: string;
  /** The path of Node, with which the program reaches the network. */
  node: string;
  /** Sets limits for all processes of a program together. */
  groups: ControlGroups;
  /** The data directory of the service, which is hidden from programs except for what a request lists. */
  dataDirectory: string;
}

/** A file or folder of the host, and its path inside the sandbox. */
export interface Mount {
  source: string;
  target: string;
}

/** Kernel settings. Programs of a service that runs as root could change them even without capabilities, because root owns them. */
const readOnlyProc = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr', 'driver', 'tty'];
/** Files about the whole machine that only root can read, because they reveal memory or keys. */
const hiddenProc = ['kcore', 'keys', 'kmsg', 'kallsyms', 'latency_stats', 'sched_debug', 'slabinfo', 'timer_list', 'vmallocinfo'];

/**
 * Sets limits and becomes the program. Limits cannot be raised again without capabilities. Shells use different letters for the
 * number of processes. Arguments: data memory in KiB or "", processes, file size in blocks of 512 bytes.
 */
const limiter = `
[ -z "$1" ] || ulimit -d "$1"
ulimit -u "$2" 2>/dev/null || ulimit -p "$2"
ulimit -f "$3"
ulimit -c 0
shift 3
exec "$@"
`;

export interface Confinement {
  /** Mounts for the program's network; empty if it has none. */
  network: readonly Mount[];
  /** The command to start, which becomes or starts the requested program. */
  command: readonly string[];
  limits: LaunchLimits;
  /** Whether a cgroup limits the memory of all processes together. */
  limitsMemory: boolean;
  /** Whether bubblewrap gets a filter for system calls. */
  filtersSystemCalls: boolean;
}

/** The arguments of bubblewrap. It reads the environment from descriptor 5, because other users can read arguments, and a filter from 6. */
export function bubblewrapArguments(machine: Machine, request: LaunchRequest, confinement: Confinement): string[] {
  const { options, identity } = machine;
  const { limits } = confinement;
  const sharesNetwork = request.network?.kind === 'all';
  const disablesUsers = !request.nestedSandboxes && options.has('--disable-userns');
  return [
    ...['--unshare-user', '--unshare-all', ...(sharesNetwork ? ['--share-net'] : []), ...(disablesUsers ? ['--disable-userns'] : [])],
    ...['--uid', String(identity.user), '--gid', String(identity.group), '--hostname', 'aops'],
    ...['--cap-drop', 'ALL', '--new-session', '--die-with-parent', '--info-fd', '4', '--args', '5'],
    ...(confinement.filtersSystemCalls ? ['--seccomp', '6'] : []),
    ...systemMounts(machine, sharesNetwork),
    ...processMounts(machine),
    ...deviceMounts(options, request, limits),
    ...nodeMount(machine),
    ...requestMounts(machine, request),
    ...confinement.network.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    // The rest of the root is a file system in memory, which would otherwise be writable.
    ...['--remount-ro', '/', '--chdir', request.directory, '--', '/bin/sh', '-c', limiter, 'sh'],
    confinement.limitsMemory ? '' : String(Math.ceil(limits.memory / 1024)),
    ...[String(limits.processes), String(Math.ceil(limits.fileSize / 512))],
    ...confinement.command,
  ];
}

/** The environment of the program, in the form in which bubblewrap reads further arguments. Throws ServiceError 400 `launch_refused`. */
export function environmentArguments(environment: Readonly<Record<string, string>>): string {
  const words = Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]);
  const invalid = Object.entries(environment).find(
    ([name, value]) => name === '' || name.includes('=') || `${name}${value}`.includes('\0'),
  );
  if (invalid !== undefined)
    throw new ServiceError(400, 'launch_refused', `The environment variable ${JSON.stringify(invalid[0])} has an invalid name or value.`);
  return words.map((word) => `${word}\0`).join('');
}

function systemMounts({ system, passwd, group }: Machine, sharesNetwork: boolean): string[] {
  return [
    ...system.flatMap(({ path: place, target }) => (target === undefined ? ['--ro-bind', place, place] : ['--symlink', target, place])),
    ...['--ro-bind', passwd, '/etc/passwd', '--ro-bind', group, '/etc/group'],
    ...(sharesNetwork ? networkSettings.flatMap((file) => ['--ro-bind-try', file, file]) : []),
  ];
}

/** Node, or the single-file executable, if it is outside of the folders of the system. It can be below /tmp. */
const nodeMount = ({ system, node }: Machine): string[] => (isVisible(system, node) ? [] : ['--ro-bind', node, node]);

const isVisible = (system: readonly SystemEntry[], place: string): boolean =>
  system.some(({ path: folder, target }) => target === undefined && isWithin(folder, place));

function processMounts({ proc }: Machine): string[] {
  return [
    ...['--proc', '/proc'],
    ...readOnlyProc.filter((name) => proc.has(name)).flatMap((name) => ['--ro-bind', `/proc/${name}`, `/proc/${name}`]),
    ...hiddenProc.filter((name) => proc.has(name)).flatMap((name) => ['--ro-bind', '/dev/null', `/proc/${name}`]),
  ];
}

/** Without a size limit, /tmp could use half of the memory, so with an old bubblewrap it is a folder of the run on disk, and /dev/shm is missing. */
function deviceMounts(options: ReadonlySet<string>, { temporary }: LaunchRequest, limits: LaunchLimits): string[] {
  const size = ['--perms', '1777', '--size', String(limits.temporarySize), '--tmpfs'];
  const isSized = options.has('--size') && options.has('--perms');
  return [
    ...['--dev', '/dev', ...(isSized ? [...size, '/dev/shm'] : []), '--remount-ro', '/dev'],
    ...(isSized ? [...size, '/tmp'] : ['--bind', temporary, '/tmp']),
  ];
}

function requestMounts({ system, dataDirectory }: Machine, request: LaunchRequest): string[] {
  const { readable = [], writable = [], directory, home, temporary } = request;
  const enclosingFolder = [...readable, ...writable, directory, home, temporary].find((place) => isWithin(place, dataDirectory));
  if (enclosingFolder !== undefined)
    throw new ServiceError(
      400,
      'launch_refused',
      `${enclosingFolder} contains the data directory of the service, so no program can use it.`,
    );
  // Procedures can list additional files, but in the data directory only those in the folder of their own run.
  const runFolder = path.dirname(directory);
  const foreignFile = [...readable, ...writable].find((place) => isWithin(dataDirectory, place) && !isWithin(runFolder, place));
  if (foreignFile !== undefined)
    throw new ServiceError(400, 'launch_refused', `${foreignFile} belongs to the data directory of the service, so no program can use it.`);
  const isHidden = !isVisible(system, dataDirectory);
  return [
    // The data directory is visible if it is below /usr, for example.
    ...(isHidden ? [] : ['--tmpfs', dataDirectory]),
    ...readable.flatMap((place) => ['--ro-bind', place, place]),
    ...unique([...writable, directory, home, temporary]).flatMap((place) => ['--bind', place, place]),
    ...(isHidden ? [] : ['--remount-ro', dataDirectory]),
  ];
}

const unique = (places: readonly string[]): string[] => [...new Set(places)];
