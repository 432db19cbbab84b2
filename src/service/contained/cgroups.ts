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

/** How often, and in which intervals (milliseconds), the removal of a group is tried whose processes have only just ended. */
const removals = 20;
const removalInterval = 25;
/** How long after its creation a group can still be empty because its program has not joined it, in milliseconds. */
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
    const own = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
    const prefix = `${anyPrefix}${owner}-`;
    const places = await placesIn(parseGroups(own));
    await sweep(places, prefix);
    const usable = await Promise.all(places.map((place) => canJoin(path.join(place.folder, `${prefix}${randomUUID()}`))));
    return new ControlGroups(
      places.filter((_, index) => usable[index]),
      prefix,
    );
  }

  /** Creates a group for a program. Without a place, or if a limit cannot be set, it lacks that controller. */
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
        // The limit of each process remains.
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

/** Removes empty groups of services that were killed. Those with processes cannot be removed. */
async function sweep(places: readonly Place[], prefix: string): Promise<void> {
  for (const { folder } of places)
    for (const name of await readdir(folder).catch(() => []))
      if (name.startsWith(prefix) || (name.startsWith(anyPrefix) && (await isOld(path.join(folder, name)))))
        await rmdir(path.join(folder, name)).catch(() => undefined);
}

/** Whether a group was created long enough ago that a program that is about to join it would have done so. */
const isOld = async (folder: string): Promise<boolean> => {
  const stats = await stat(folder).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > joinTime;
};

/** Whether a process of this service can join a new group there. Permissions alone do not decide that. */
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
  const unified = groups.get('');
  const place = unified === undefined ? undefined : await unifiedPlace('/sys/fs/cgroup', unified);
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
 * The nearest group that hands controllers on to the groups in it. That of the service itself does not, because it contains processes
 * (the rule of "no internal processes"), unless it is the root.
 */
async function unifiedPlace(root: string, group: string): Promise<Place | undefined> {
  for (let folder = path.join(root, group); folder.startsWith(root); folder = path.dirname(folder)) {
    const handedOn = (await readFile(path.join(folder, 'cgroup.subtree_control'), 'utf8').catch(() => '')).split(/\s+/);
    const limits: Place['limits'] = {
      ...(handedOn.includes('memory') ? { memory: 'memory.max' } : {}),
      ...(handedOn.includes('pids') ? { pids: 'pids.max' } : {}),
    };
    if (Object.keys(limits).length > 0 && (await isWritable(folder))) return { folder, limits };
  }
  return undefined;
}

/** Moving a process needs the list of the processes of a common group above both. */
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
  for (let attempt = 0; attempt < removals; attempt++) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    );
    if (isRemoved) return;
    await delay(removalInterval);
  }
}
