/** A small disk in memory, for tests of what happens when a disk is full. */
import { spawnSync } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Missing, needsRoot } from './requirements.ts';
import { afterTest, temporaryDirectory } from './temporary.ts';

const mount = (...args: string[]): ReturnType<typeof spawnSync> => spawnSync('mount', ['-t', 'tmpfs', ...args], { encoding: 'utf8' });
/** A namespace of its own, so that the trial changes nothing. */
const trial = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/tmp']);

export const needsSmallDisk: Missing = needsRoot ?? (trial.status === 0 ? undefined : 'this machine does not permit root to mount');

export interface SmallDisk {
  folder: string;
  /** Uses all remaining space. */
  fill(): Promise<void>;
  /** Makes the space available again. */
  free(): Promise<void>;
}

/** Mounts a disk, which is removed after the test. @param size bytes */
export async function smallDisk(size: number): Promise<SmallDisk> {
  const folder = await temporaryDirectory();
  const { status, stderr } = mount('-o', `size=${size}`, 'none', folder);
  if (status !== 0) throw new Error(`The disk could not be mounted: ${stderr}`);
  afterTest(() => void spawnSync('umount', ['--lazy', folder]));
  const ballast = path.join(folder, 'ballast');
  return {
    folder,
    async fill() {
      const file = await open(ballast, 'a');
      try {
        for (;;) await file.write(Buffer.alloc(64 * 1024));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
  };
}
