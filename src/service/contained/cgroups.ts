/**
 * Limits for all processes of a program together: control groups, where the service can create them. Version 2 (one tree), and version 1
 * (a tree for each controller), in the group of the service or in one above it.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { LaunchLimits } from '../sandbox/launch.ts';

type Controller = 'memory' | 'pids';

/** Where groups can be created, and the file in them that contains each limit. */
interface Place {
  folder: string;
  limits: Partial<Record<Controller, string>>;
}

export interface ProgramGroup {
  /** The files to which a process writes its ID to join. */
  joinFiles: readonly string[];
  controllers: ReadonlySet<Controller>;
  /** Removes the groups, when they have no processes any more. */
  remove(): Promise<void>;
}

/** How many times, and at which interval in milliseconds, to try to remove a group whose processes have only just ended. */
const maxRemovalAttempts = 20;
const removalInterval = 25;
/** How long after its creation a group can be empty because its program has not joined it yet, in milliseconds. */
const joinTime = 60_000;
const anyPrefix = 'aops-';

export class ControlGroups {
  readonly #places: readonly Place[];
  readonly #prefix: string;

  private constructor(places: readonly Place[], prefix: string) {
    this.#places = places;
    this.#prefix = prefix;
  }

  /**
   * Finds out where groups can be created, and removes those that a killed service left behind.
   * @param owner a word that no other service uses
   */
  static async find(owner: string): Promise<ControlGroups> {
    const groupText = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
    const prefix = `${anyPrefix}${owner}-`;
    const places = await placesIn(parseGroups(groupText));
    await sweep(places, prefix);
    const usable = await Promise.all(places.map((place) => canJoin(path.join(place.folder, `${prefix}${randomUUID()}`))));
    return new ControlGroups(
      places.filter((_, index) => usable[index]),
      prefix,
    );
  }

  /** Creates a group for a program. It lacks the controllers whose limits cannot be set. */
  async create(limits: LaunchLimits): Promise<ProgramGroup> {
    const name = `${this.#prefix}${randomUUID()}`;
    const values: Record<Controller, number> = { memory: limits.memory, pids: limits.processes };
    const folders: string[] = [];
    const controllers = new Set<Controller>();
    for (const place of this.#places) {
      const folder = path.join(place.folder, name);
      try {
        await mkdir(folder);
        folders.push(folder);
        for (const [controller, file] of Object.entries(place.limits) as [Controller, string][]) {
          await writeFile(path.join(folder, file), String(values[controller]));
          controllers.add(controller);
        }
        // Otherwise, the program could continue in swap space. Not every kernel counts it.
        if ('memory' in place.limits) await writeFile(path.join(folder, 'memory.swap.max'), '0', { flag: 'r+' }).catch(() => undefined);
      } catch {
        // The limits per process still apply.
      }
    }
    return {
      joinFiles: folders.map((folder) => path.join(folder, 'cgroup.procs')),
      controllers,
      remove: async () => {
        for (const folder of folders) await removeGroup(folder);
      },
    };
  }
}

/** Removes empty groups of services that were killed. Groups with processes cannot be removed. */
async function sweep(places: readonly Place[], prefix: string): Promise<void> {
  for (const { folder } of places)
    for (const name of await readdir(folder).catch(() => []))
      if (name.startsWith(prefix) || (name.startsWith(anyPrefix) && (await isOld(path.join(folder, name)))))
        await rmdir(path.join(folder, name)).catch(() => undefined);
}

/** Whether a group is so old that its program would have joined it by now. */
const isOld = async (folder: string): Promise<boolean> => {
  const stats = await stat(folder).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > joinTime;
};

/** Whether a process of this service can join a new group there. File permissions alone do not determine that. */
async function canJoin(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    await promisify(execFile)('/bin/sh', ['-c', 'echo $$ >"$1"', 'sh', path.join(folder, 'cgroup.procs')], { env: {} });
    return true;
  } catch {
    return false;
  } finally {
    await removeGroup(folder);
  }
}

/** The groups of this process: by controller in version 1, and under the name '' in version 2. See cgroups(7). */
export function parseGroups(text: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.trim().split('\n')) {
    const [, controllers = '', group = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (group !== '') for (const controller of controllers.split(',')) groups.set(controller, group);
  }
  return groups;
}

async function placesIn(groups: ReadonlyMap<string, string>): Promise<Place[]> {
  const unifiedGroup = groups.get('');
  const place = unifiedGroup === undefined ? undefined : await unifiedPlace('/sys/fs/cgroup', unifiedGroup);
  if (place !== undefined) return [place];
  const files: Record<Controller, string> = { memory: 'memory.limit_in_bytes', pids: 'pids.max' };
  const places: Place[] = [];
  for (const controller of ['memory', 'pids'] as const) {
    const group = groups.get(controller);
    const folder = group === undefined ? undefined : path.join('/sys/fs/cgroup', controller, group);
    if (folder !== undefined && (await isWritable(folder))) places.push({ folder, limits: { [controller]: files[controller] } });
  }
  return places;
}

/**
 * The nearest group that delegates controllers to the groups in it. The service's own group does not, because it contains processes
 * (the "no internal processes" rule), unless it is the root.
 */
async function unifiedPlace(root: string, group: string): Promise<Place | undefined> {
  for (let folder = path.join(root, group); folder.startsWith(root); folder = path.dirname(folder)) {
    const delegatedControllers = (await readFile(path.join(folder, 'cgroup.subtree_control'), 'utf8').catch(() => '')).split(/\s+/);
    const limits: Place['limits'] = {
      ...(delegatedControllers.includes('memory') ? { memory: 'memory.max' } : {}),
      ...(delegatedControllers.includes('pids') ? { pids: 'pids.max' } : {}),
    };
    if (Object.keys(limits).length > 0 && (await isWritable(folder))) return { folder, limits };
  }
  return undefined;
}

/** Moving a process also requires write access to the process list of a common ancestor of both groups. */
const isWritable = async (folder: string): Promise<boolean> => {
  try {
    await access(folder, constants.W_OK);
    await access(path.join(folder, 'cgroup.procs'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 0; attempt < maxRemovalAttempts; attempt++) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    );
    if (isRemoved) return;
    await delay(removalInterval);
  }
}
