/** Compares the files of a run's sandbox with a local folder: which exist only on one side, and which differ. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import type { Comparison } from '../../base/unified-diff.ts';
import { fileProblem } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { filesBelow } from '../../cli/transfers/upload-paths.ts';
import { inParallel } from '../../client/transfers/parallel.ts';
import { listRunTree, parallelTransfers, type RunPlace, readRunFile, runFileBytes } from '../../client/transfers/run-files.ts';

/** A file that differs. "Before" is the local folder, "after" is the sandbox. */
export class FileChange {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Bytes; null if the file does not exist. */
  readonly size_before: number | null;
  readonly size_after: number | null;
  readonly #texts: Comparison | undefined;

  constructor(name: string, sizes: { before: number | undefined; after: number | undefined }, texts: Comparison | undefined) {
    this.path = name;
    this.change = sizes.before === undefined ? 'added' : sizes.after === undefined ? 'removed' : 'changed';
    this.size_before = sizes.before ?? null;
    this.size_after = sizes.after ?? null;
    this.#texts = texts;
  }

  /** Both texts, if they were requested and are text files that are not too large. Not part of the JSON output. */
  get texts(): Comparison | undefined {
    return this.#texts;
  }
}

/** Larger files are only reported as different. This is the maximum size that a service includes in its response. */
const maxTextBytes = 1024 * 1024;

/**
 * The files that differ, sorted by name. Local symbolic links are ignored.
 * @param options `inside` is the folder in the sandbox; `texts` requests the texts too
 * @throws UsageError when the folder cannot be read
 */
export async function compareFiles(
  context: Context,
  run: RunPlace,
  folder: string,
  options: { inside: string; texts: boolean },
): Promise<FileChange[]> {
  const { signal } = context;
  const client = await context.client();
  const localByName = new Map((await localFiles(context, folder)).map((file) => [file.target, file]));
  const { base, files } = await listRunTree(client, run, options.inside, signal);
  const remoteByName = new Map(files.map((file) => [file.path.slice(base.length + 1), file]));
  const names = [...new Set([...localByName.keys(), ...remoteByName.keys()])].sort();
  const changes = await inParallel(names, parallelTransfers, signal, async (name, fileSignal) => {
    const [local, remote] = [localByName.get(name), remoteByName.get(name)];
    const sizes = { before: local?.size, after: remote?.size };
    if (local && remote && local.size === remote.size && (await isSame(local.file, remote.path, fileSignal))) return undefined;
    return new FileChange(name, sizes, options.texts ? await texts(name, local, remote, fileSignal) : undefined);
  });
  return changes.filter((change) => change !== undefined);

  async function isSame(file: string, runPath: string, fileSignal: AbortSignal): Promise<boolean> {
    const content = await readRunFile(client, run, runPath, fileSignal);
    const localBytes = createReadStream(file);
    try {
      return await sameBytes(localBytes, runFileBytes(client, content, { signal: fileSignal }));
    } finally {
      localBytes.destroy();
    }
  }

  async function texts(
    name: string,
    local: { file: string; size: number } | undefined,
    remote: { path: string; size: number } | undefined,
    fileSignal: AbortSignal,
  ): Promise<Comparison | undefined> {
    if (Math.max(local?.size ?? 0, remote?.size ?? 0) > maxTextBytes) return undefined;
    const content = remote && (await readRunFile(client, run, remote.path, fileSignal));
    const after = content === undefined ? '' : content.truncated || content.encoding === 'base64' ? null : content.content;
    const before = local === undefined ? '' : textOf(await readFile(local.file));
    if (after === null || before === undefined) return undefined;
    const missingName = '/dev/null';
    return {
      before,
      after,
      beforeName: local ? path.posix.join(folder.split(path.sep).join('/'), name) : missingName,
      afterName: remote?.path ?? missingName,
    };
  }
}

async function localFiles(context: Context, folder: string) {
  const root = path.resolve(context.cwd, folder);
  const stats = await stat(root).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(fileProblem(folder, error));
  });
  if (!stats.isDirectory()) throw new UsageError(`${folder} is not a folder.`, 'Specify the folder that the files would be pulled into.');
  return filesBelow(root, { target: '', skippedNames: [], cwd: context.cwd });
}

/** Whether two streams contain the same bytes, regardless of their chunks. */
export async function sameBytes(leftBytes: AsyncIterable<Uint8Array>, rightBytes: AsyncIterable<Uint8Array>): Promise<boolean> {
  const [left, right] = [leftBytes[Symbol.asyncIterator](), rightBytes[Symbol.asyncIterator]()];
  try {
    let [a, b]: [Uint8Array, Uint8Array] = [new Uint8Array(), new Uint8Array()];
    for (;;) {
      while (a.length === 0) {
        const next = await left.next();
        if (next.done) break;
        a = next.value;
      }
      while (b.length === 0) {
        const next = await right.next();
        if (next.done) break;
        b = next.value;
      }
      const length = Math.min(a.length, b.length);
      if (length === 0) return a.length === b.length;
      for (let index = 0; index < length; index++) if (a[index] !== b[index]) return false;
      [a, b] = [a.subarray(length), b.subarray(length)];
    }
  } finally {
    await left.return?.();
    await right.return?.();
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
