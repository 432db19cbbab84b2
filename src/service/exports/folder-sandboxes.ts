/** Reads sandboxes from the folders of a data directory that no service uses. */
import { closeSync, fstatSync, type Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { isAbsent } from '../../base/read-failure.ts';
import type { TarEntry } from '../../base/tar/tar-entry.ts';
import { fileBytes, Holes, openForCopy, reasonOf } from '../backup/disk-file.ts';
import { type Scan, scanSandbox } from '../sandbox/record/scan.ts';
import { type Chunks, canonicalEntries, placeOf, type SandboxSource, tarEntryOf } from './sandbox-contents.ts';

/** @param root the folder of all sandboxes */
export const folderSandboxes =
  (root: string): SandboxSource =>
  async (sandbox) => {
    const { id } = sandbox;
    const home = await realpath(path.join(root, id)).catch((error: unknown) => {
      if (isAbsent(error)) return undefined;
      throw error;
    });
    const scan: Scan = home === undefined ? { entries: [], files: [], removed: [], unreadable: [] } : await scanSandbox(home, new Map());
    const found = [
      ...scan.entries.flatMap(({ entry }) => (entry.type === 'file' ? [] : [tarEntryOf(entry)])),
      ...scan.files.map(({ path: name, stats }) => tarEntryOf({ type: 'file', path: name, ...factsOf(stats) })),
    ];
    const { entries, problems } = canonicalEntries(sandbox, found);
    const report = (name: string, problem: string): void => void problems.push({ path: placeOf(id, name), problem });
    for (const name of scan.unreadable) report(name, 'it cannot be read, or its name is too long or not UTF-8, so it is left out');
    const holes = new Holes();
    const open = async ({ name, size }: TarEntry): Promise<Chunks | undefined> => {
      let descriptor: number;
      try {
        descriptor = openForCopy(path.join(home as string, name));
      } catch (error) {
        report(name, reasonOf(error));
        return undefined;
      }
      if (!holes.areTooMany(fstatSync(descriptor))) return closing(descriptor, size, () => report(name, 'it became shorter meanwhile'));
      closeSync(descriptor);
      report(name, `it is ${size} bytes long, and nearly empty on the disk, so it is left out`);
      return undefined;
    };
    return { entries, problems, open };
  };

const factsOf = ({ mode, mtimeMs, size }: Stats) => ({ mode: mode & 0o777, modifiedAt: mtimeMs, size });

function* closing(descriptor: number, size: number, onShort: () => void): Generator<Uint8Array> {
  try {
    yield* fileBytes(descriptor, size, onShort);
  } finally {
    closeSync(descriptor);
  }
}
