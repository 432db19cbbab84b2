/**
 * Writes many files at once: all are written to staging files, synced together, and then renamed, each of which appears complete or not
 * at all. The work on one small file is synchronous: handing it to a thread takes several times as long as doing it.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, renameSync, writeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { syncFiles } from '../../base/group-sync.ts';
import { confirmNow, locate, locateIn, namesOf, type Place, publicPath, statsNow } from './paths.ts';
import { Turn } from './turn.ts';
import { renameFailure, type WriteDirectories, writable } from './write.ts';

/** A file to write. */
export interface NewFile {
  path: string;
  content: AsyncIterable<Uint8Array>;
}

/**
 * Writes the files and creates missing directories. Nothing changes in the workspace before all of them have been received. If one of them
 * cannot be written, none appears, unless a directory is replaced at the last moment. Throws like `writeFile`, and whatever `files` throws.
 */
export async function writeFiles(directories: WriteDirectories, files: AsyncIterable<NewFile>): Promise<void> {
  const { root, staging, process } = directories;
  await mkdir(staging, { recursive: true, mode: 0o700 });
  const targets = new Targets(root);
  const stagedFiles: { stagedPath: string; input: string; target?: Place }[] = [];
  const turn = new Turn();
  let placedFiles = 0;
  try {
    for await (const { path: input, content } of files) {
      const stagedPath = path.join(staging, `${process}-${randomUUID()}`);
      stagedFiles.push({ stagedPath, input });
      await stage(stagedPath, content);
      await turn.yield();
    }
    for (const file of stagedFiles) {
      file.target = writable(await targets.find(file.input));
      await turn.yield();
    }
    await syncFiles(stagedFiles.map(({ stagedPath }) => stagedPath));
    // Nothing is created before all files can be written.
    for (const file of stagedFiles) file.target = await targets.create(file.input, file.target as Place);
    for (const file of stagedFiles) {
      const [stagedPath, target] = [file.stagedPath, file.target as Place];
      // Looked up again: receiving the data can take long, and commands can change the workspace.
      confirmNow(root, path.dirname(target.realPath), target.displayPath);
      try {
        renameSync(stagedPath, target.realPath);
      } catch (error) {
        throw renameFailure(error, target);
      }
      placedFiles += 1;
      await turn.yield();
    }
  } catch (error) {
    for (const { stagedPath } of stagedFiles.slice(placedFiles)) await rm(stagedPath, { force: true });
    throw error;
  }
}

/** Finds the places of files; the directory of many files is looked up once. */
class Targets {
  readonly #root: string;
  readonly #directories = new Map<string, Place>();
  readonly #created = new Map<string, Place>();

  constructor(root: string) {
    this.#root = root;
  }

  /** @throws ServiceError `invalid_path`, `not_a_directory` */
  async find(input: string): Promise<Place> {
    const names = namesOf(input);
    const name = names.pop();
    // The workspace itself.
    if (name === undefined) return locate(this.#root, input);
    const directory = publicPath(names);
    let place = this.#directories.get(directory);
    if (place === undefined) {
      place = await locate(this.#root, directory, { allowMissing: true });
      this.#directories.set(directory, place);
    }
    const stats = place.stats?.isDirectory() ? statsNow(path.join(place.realPath, name)) : undefined;
    // A link is followed, and what is not a directory is refused, as for a single file.
    if (stats?.isSymbolicLink() || place.stats?.isDirectory() === false) return locateIn(this.#root, place, name);
    return { displayPath: `${place.displayPath}/${name}`, realPath: path.join(place.realPath, name), stats };
  }

  /** Creates the directory of a file that was found, unless it exists. Returns the place of the file. */
  async create(input: string, target: Place): Promise<Place> {
    const names = namesOf(input);
    const name = names.pop() as string;
    const directory = publicPath(names);
    if (this.#directories.get(directory)?.stats !== undefined) return target;
    const created = this.#created.get(directory) ?? (await locate(this.#root, directory, { createAll: true }));
    this.#created.set(directory, created);
    return { ...target, realPath: path.join(created.realPath, name) };
  }
}

async function stage(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    // A disk that is nearly full accepts only a part; the next write reports why.
    for await (const chunk of content) for (let written = 0; written < chunk.length; ) written += writeSync(descriptor, chunk, written);
  } finally {
    closeSync(descriptor);
  }
}
