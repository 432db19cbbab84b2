/** Files in a folder of this machine, or in one that several nodes share: `<root>/<key>`. */
import { access, constants, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { syncFolder } from '../../base/sync-folder.ts';
import { hasCode } from '../sandbox/paths.ts';
import type { ByteRange, FileBackend } from './stored-file.ts';

/** The end of the name of a file that is being written. */
const partialEnd = '.partial';

export class FolderFiles implements FileBackend {
  readonly kind = 'folder';
  readonly #root: string;

  constructor(root: string) {
    this.#root = resolve(root);
  }

  async put(key: string, data: AsyncIterable<Uint8Array>): Promise<void> {
    const path = join(this.#root, key);
    const partial = `${path}${partialEnd}`;
    const handle = await this.#create(partial);
    try {
      try {
        for await (const chunk of data) await handle.writeFile(chunk);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(partial, path);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    for (let folder = dirname(path); folder.startsWith(this.#root); folder = dirname(folder)) await syncFolder(folder);
  }

  async open(key: string, range: ByteRange | undefined): Promise<Readable | undefined> {
    try {
      const handle = await open(join(this.#root, key));
      return handle.createReadStream(range);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    const folders = new Set<string>();
    for (const key of keys) {
      const path = join(this.#root, key);
      await rm(path, { force: true });
      await rm(`${path}${partialEnd}`, { force: true });
      folders.add(dirname(path));
    }
    for (const folder of folders) await this.#removeEmpty(folder);
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; size: number }> {
    yield* this.#listFolder(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
  }

  async check(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    await access(this.#root, constants.R_OK | constants.W_OK | constants.X_OK);
  }

  /** Opens a new file. Its folder can disappear meanwhile, if it is emptied. */
  async #create(path: string) {
    for (let attempt = 1; ; attempt++) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      try {
        return await open(path, 'wx', 0o600);
      } catch (error) {
        if (attempt === 3 || !hasCode(error, 'ENOENT')) throw error;
      }
    }
  }

  async #removeEmpty(folder: string): Promise<void> {
    for (let path = folder; path !== this.#root && path.startsWith(this.#root); path = dirname(path)) {
      try {
        await rmdir(path);
      } catch (error) {
        if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return;
        if (!hasCode(error, 'ENOENT')) throw error;
      }
    }
  }

  /** @param folder ends with `/` unless it is the root */
  async *#listFolder(folder: string, prefix: string): AsyncGenerator<{ key: string; size: number }> {
    const entries = await readdir(join(this.#root, folder), { withFileTypes: true }).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    for (const entry of entries) {
      const key = `${folder}${entry.name}`;
      if (entry.isDirectory() && (key.startsWith(prefix) || prefix.startsWith(`${key}/`))) yield* this.#listFolder(`${key}/`, prefix);
      if (!entry.isFile() || !key.startsWith(prefix) || key.endsWith(partialEnd)) continue;
      const stats = await stat(join(this.#root, key)).catch(() => undefined);
      if (stats !== undefined) yield { key, size: stats.size };
    }
  }
}
