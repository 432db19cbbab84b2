/**
 * Resolves a path from a caller to a location on disk inside the sandbox. Names are checked first, then every component is
 * examined without following links; a link is allowed only if its target is inside as well.
 */
import { constants, lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError } from '../errors.ts';

/** Where agents and callers see the files of a sandbox. */
export const workspace = '/workspace';

const maxNameBytes = 255;
const maxPathBytes = 2_048;

/** For reading a file. O_NONBLOCK: if a named pipe has replaced the file, opening must not wait for a writer. */
export const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A location inside the sandbox. `stats` is undefined when it does not exist yet. */
export interface Place {
  /** The path that callers see: `/workspace/a/b`. */
  displayPath: string;
  /** The path on disk; no component was a link at the time of the lookup. */
  realPath: string;
  stats: Stats | undefined;
}

export const invalidPath = (input: string, reason: string): ServiceError =>
  new ServiceError(400, 'invalid_path', `The path ${quote(input)} is not allowed: ${reason}`);
export const fileNotFound = (displayPath: string): ServiceError =>
  new ServiceError(404, 'file_not_found', `There is no file or directory ${quote(displayPath)} in the sandbox.`);
export const notAFile = (displayPath: string): ServiceError => new ServiceError(400, 'not_a_file', `${quote(displayPath)} is not a file.`);
export const notADirectory = (displayPath: string): ServiceError =>
  new ServiceError(400, 'not_a_directory', `${quote(displayPath)} is not a directory.`);

/**
 * The names that lead from the workspace to a path; an empty list for the workspace itself. `/workspace/a`, `a`, and `./a` are the same.
 * Throws `invalid_path` for `..`, NUL, backslashes, other absolute paths, and names that are too long.
 */
export function namesOf(input: string): string[] {
  if (input.includes('\0')) throw invalidPath(input, 'it contains a NUL character.');
  if (input.includes('\\')) throw invalidPath(input, 'it contains a backslash; separate names with /.');
  if (Buffer.byteLength(input) > maxPathBytes) throw invalidPath(input, `it is longer than ${maxPathBytes} bytes.`);
  const names = input.split('/').filter((name) => name !== '' && name !== '.');
  if (input.startsWith('/') && names.shift() !== workspace.slice(1))
    throw invalidPath(input, `it must be relative or begin with ${workspace}.`);
  for (const name of names) {
    if (name === '..') throw invalidPath(input, 'it contains "..".');
    if (Buffer.byteLength(name) > maxNameBytes) throw invalidPath(input, `a name in it is longer than ${maxNameBytes} bytes.`);
  }
  return names;
}

/** The path that callers see. */
export const publicPath = (names: readonly string[]): string => [workspace, ...names].join('/');

interface LocateOptions {
  /** Creates the directories on the way. */
  createParents?: boolean;
  /** The same, with the last one. */
  createAll?: boolean;
  /** Directories on the way can be missing. */
  allowMissing?: boolean;
}

/**
 * Looks up a path below `root`, which must be a real path. The path itself does not have to exist (`stats` is then undefined);
 * a missing directory on the way is `file_not_found`, unless the options say something else.
 */
export async function locate(root: string, input: string, options: LocateOptions = {}): Promise<Place> {
  const names = namesOf(input);
  const displayPath = publicPath(names);
  let place: Place = { displayPath, realPath: root, stats: await statsOf(root) };
  if (place.stats === undefined) throw fileNotFound(workspace);
  for (const [index, name] of names.entries()) {
    if (!place.stats?.isDirectory()) throw notADirectory(publicPath(names.slice(0, index)));
    place = await step(root, { input, displayPath, realPath: path.join(place.realPath, name) });
    const isLast = index === names.length - 1;
    if (place.stats === undefined && (!isLast || options.createAll)) {
      if (options.allowMissing) return { displayPath, realPath: path.join(place.realPath, ...names.slice(index + 1)), stats: undefined };
      if (!options.createParents && !options.createAll) throw fileNotFound(displayPath);
      await makeDirectory(place.realPath);
      // Checked again: something else might have been created there in the meantime.
      place = await step(root, { input, displayPath, realPath: place.realPath });
    }
  }
  return place;
}

/** Looks up a name in a directory that was located. */
export async function locateIn(root: string, directory: Place, name: string): Promise<Place> {
  if (!directory.stats?.isDirectory()) throw notADirectory(directory.displayPath);
  const displayPath = `${directory.displayPath}/${name}`;
  return step(root, { input: displayPath, displayPath, realPath: path.join(directory.realPath, name) });
}

/**
 * Throws `invalid_path` unless `realPath` is still inside `root` without a link on the way, as it was when it was located.
 * Narrows the window in which a command in the sandbox can replace a directory with a link.
 */
export async function confirm(root: string, realPath: string, displayPath: string): Promise<void> {
  requireUnchanged(root, realPath, displayPath, await realpath(realPath).catch(() => undefined));
}

/** The same without giving anything else a chance to run, so that what follows immediately is as close to it as possible. */
export function confirmNow(root: string, realPath: string, displayPath: string): void {
  let now: string | undefined;
  try {
    now = realpathSync.native(realPath);
  } catch {
    // It was removed.
  }
  requireUnchanged(root, realPath, displayPath, now);
}

function requireUnchanged(root: string, realPath: string, displayPath: string, now: string | undefined): void {
  if (now !== realPath || !isInside(root, now)) throw invalidPath(displayPath, 'it changed while it was being used.');
}

/** Whether an open file is inside `root`; undefined on systems that do not report where an open file is. */
export function isOpenInside(root: string, descriptor: number): boolean | undefined {
  try {
    return isInside(root, readlinkSync(`/proc/self/fd/${descriptor}`));
  } catch {
    return undefined;
  }
}

/** Throws `invalid_path` unless the open file is inside `root`: a directory might have been replaced with a link before it was opened. */
export async function confirmOpen(root: string, place: Place, handle: FileHandle): Promise<void> {
  // Linux reports the location of an open file without a race. On other systems, the path is looked up again and must be the same file.
  const openedPath = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
  if (openedPath !== undefined) {
    if (!isInside(root, openedPath)) throw invalidPath(place.displayPath, 'it leads out of the sandbox.');
    return;
  }
  await confirm(root, place.realPath, place.displayPath);
  const [open, current] = [await handle.stat(), await lstat(place.realPath)];
  if (open.ino !== current.ino || open.dev !== current.dev) throw invalidPath(place.displayPath, 'it changed while it was being used.');
}

async function step(root: string, parent: { input: string; displayPath: string; realPath: string }): Promise<Place> {
  const stats = await statsOf(parent.realPath);
  if (!stats?.isSymbolicLink()) return { displayPath: parent.displayPath, realPath: parent.realPath, stats };
  // The same error for every link that does not end inside, including dangling ones, so that callers cannot probe for files outside.
  const target = await realpath(parent.realPath).catch(() => undefined);
  if (target === undefined || !isInside(root, target)) throw invalidPath(parent.input, 'it leads out of the sandbox.');
  return { displayPath: parent.displayPath, realPath: target, stats: await statsOf(target) };
}

async function statsOf(realPath: string): Promise<Stats | undefined> {
  try {
    return await lstat(realPath);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The same without a thread, which takes several times as long for one of many files. */
export const statsNow = (realPath: string): Stats | undefined => lstatSync(realPath, { throwIfNoEntry: false });

async function makeDirectory(realPath: string): Promise<void> {
  try {
    await mkdir(realPath, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

const isInside = (root: string, realPath: string): boolean => realPath === root || realPath.startsWith(root + path.sep);

export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

/** A path for a message: shortened, quoted, and with control characters escaped. */
function quote(input: string): string {
  return JSON.stringify(input.length > 200 ? `${input.slice(0, 200)}…` : input);
}
