/** The disk under the databases of this process. */
import { type FileHandle, open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Mock, vi } from 'vitest';
import { afterTest } from '../../support/temporary.ts';
import type { Gate } from './runtime.ts';

/** What all open files have in common, to be spied on. */
export async function fileHandles(): Promise<FileHandle> {
  const file = await open(fileURLToPath(import.meta.url));
  await file.close();
  return Object.getPrototypeOf(file) as FileHandle;
}

/** Lets nothing reach the disk until the gate is open; the calls that want to. */
export async function heldDisk(goOn: Gate): Promise<Mock> {
  const handles = await fileHandles();
  const { datasync } = handles;
  const sync = vi.spyOn(handles, 'datasync').mockImplementation(async function (this: FileHandle) {
    await goOn.opened;
    await datasync.call(this);
  });
  afterTest(async () => sync.mockRestore());
  return sync as unknown as Mock;
}
