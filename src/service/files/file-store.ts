/** The bytes of run files: `<root>/<run id>/<file id>`. A file appears complete or not at all. */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export class FileStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The location of a file. The service generates both IDs. */
  path(runId: string, fileId: string): string {
    return join(this.#root, runId, fileId);
  }

  /** Writes a file and syncs it to the disk. */
  async write(runId: string, fileId: string, bytes: Uint8Array): Promise<void> {
    const path = this.path(runId, fileId);
    const partial = `${path}.partial`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(partial, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, path);
  }

  /** Takes all files of a run out of use immediately, and returns a function that removes them. */
  async putAside(runId: string): Promise<() => Promise<void>> {
    const removedPath = join(this.#root, `${runId}.removed`);
    const hasFiles = await rename(join(this.#root, runId), removedPath).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return false;
      },
    );
    return async () => void (hasFiles && (await rm(removedPath, { recursive: true, force: true, maxRetries: 3 })));
  }

  /** Removes files that were put aside and that a crash has left behind. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => []))
      if (name.endsWith('.removed')) await rm(join(this.#root, name), { recursive: true, force: true, maxRetries: 3 });
  }

  async remove(runId: string, fileId: string): Promise<void> {
    await rm(this.path(runId, fileId), { force: true });
  }
}
