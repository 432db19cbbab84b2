/**
 * Writing files whose names come from the service. Nothing is written outside the target folder, no link is
 * followed or made, and a file appears under its name only when it is complete.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const badName = /[\u0000-\u001f\u007f\\]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * The parts of a relative name given by the service.
 * @throws AopsError `unsafe_name` when it is absolute, climbs, or could mean something else on another system
 */
export function safeParts(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (
    /^(\/|[a-z]:)/i.test(name) ||
    parts.length === 0 ||
    parts.includes('..') ||
    parts.some((part) => badName.test(part) || Buffer.byteLength(part) > 255)
  ) {
    throw new AopsError(`The service names a file ${JSON.stringify(name)}, which is not safe to write.`, {
      code: 'unsafe_name',
      exit: exitCodes.failure,
      hint: 'Read it with `aops sandbox cat` and choose a name yourself.',
    });
  }
  return parts;
}

/** Creates the folders that lead to a file below `root`, refusing links among them. Returns the file's path. */
export async function prepareTarget(root: string, name: string): Promise<string> {
  const parts = safeParts(name);
  await mkdir(root, { recursive: true });
  let folder = root;
  for (const part of parts.slice(0, -1)) {
    folder = path.join(folder, part);
    await mkdir(folder).catch(ignoreExisting);
    if (!(await lstat(folder)).isDirectory())
      throw new UsageError(`${folder} is not a directory; nothing is written through it.`, 'Choose another folder with --to.');
  }
  return path.join(folder, parts.at(-1) as string);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/**
 * Writes a file completely or not at all.
 * @throws UsageError when it exists already and `replace` is false
 */
export async function writeFile(target: string, content: AsyncIterable<Uint8Array>, replace: boolean): Promise<number> {
  const existing = await lstat(target).catch(() => undefined);
  if (existing && (!replace || !existing.isFile())) {
    throw new UsageError(
      `${target} exists already.`,
      existing.isFile() ? 'Allow replacing it with --force.' : 'It is not a plain file; choose another folder with --to.',
    );
  }
  const partial = path.join(path.dirname(target), `.aops-${randomBytes(8).toString('hex')}.part`);
  const file = await open(partial, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  try {
    let size = 0;
    for await (const chunk of content) {
      // Unlike write, this does not stop half-way through a chunk.
      await file.writeFile(chunk);
      size += chunk.length;
    }
    await file.sync();
    await file.close();
    await rename(partial, target);
    return size;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
}
