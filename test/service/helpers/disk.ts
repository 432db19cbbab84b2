/** The disk under the databases of this process. */
import { type FileHandle, open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Mock, vi } from 'vitest';
import { afterTest } from '../../support/temporary.ts';
import type { Gate } from './runtime.ts';

/** Lets nothing reach the disk until the gate is open; the calls that want to. */
export async function heldDisk(goOn: Gate): Promise<Mock> {
  const file = await open(fileURLToPath(import.meta.url));
  const handles = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
  const { datasync } = handles;
  const sync = vi.spyOn(handles, 'datasync').mockImplementation(async function (this: FileHandle) {
    await goOn.opened;
    await datasync.call(this);
  });
  afterTest(async () => sync.mockRestore());
  return sync as unknown as Mock;
}
