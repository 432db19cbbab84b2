/**
 * From a path as callers write it to a place on disk that is inside the sandbox. Names are checked first, then every
 * component is looked at without following links; a link counts only when what it leads to is inside as well.
 */
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError } from '../errors.ts';

/** Where a sandbox's files appear to agents and callers. */
export const workspace = '/workspace';

const longestName = 255;
const longestPath = 2_048;

/** A place inside the sandbox. `stats` is undefined when nothing is there yet. */
export interface Place {
  /** As callers see it: `/workspace/a/b`. */
  shown: string;
  /** On disk; no component of it was a link when it was looked up. */
  real: string;
  stats: Stats | undefined;
}

export const invalidPath = (given: string, why: string): ServiceError =>
  new ServiceError(400, 'invalid_path', `The path ${quote(given)} is not allowed: ${why}`);
export const fileNotFound = (shown: string): ServiceError =>
  new ServiceError(404, 'file_not_found', `There is no file or directory ${quote(shown)} in the sandbox.`);
export const notAFile = (shown: string): ServiceError => new ServiceError(400, 'not_a_file', `${quote(shown)} is not a file.`);
export const notADirectory = (shown: string): ServiceError =>
  new ServiceError(400, 'not_a_directory', `${quote(shown)} is not a directory.`);

/**
 * The names that lead from the workspace to a path; none for the workspace itself. `/workspace/a`, `a` and `./a` are the same.
 * Throws `invalid_path` for `..`, NUL, backslashes, other absolute paths and over-long names.
 */
export function namesOf(given: string): string[] {
  if (given.includes('\0')) throw invalidPath(given, 'it contains a NUL character.');
  if (given.includes('\\')) throw invalidPath(given, 'it contains a backslash; separate names with /.');
  if (Buffer.byteLength(given) > longestPath) throw invalidPath(given, `it is longer than ${longestPath} bytes.`);
  const names = given.split('/').filter((name) => name !== '' && name !== '.');
  if (given.startsWith('/') && names.shift() !== workspace.slice(1))
    throw invalidPath(given, `it must be relative or begin with ${workspace}.`);
  for (const name of names) {
    if (name === '..') throw invalidPath(given, 'it contains "..".');
    if (Buffer.byteLength(name) > longestName) throw invalidPath(given, `a name in it is longer than ${longestName} bytes.`);
  }
  return names;
}

/** How a path reads to callers. */
export const shownPath = (names: readonly string[]): string => [workspace, ...names].join('/');

/**
 * Looks a path up below `root`, which must itself be a real path. Nothing at the end of the path is fine
 * (`stats` undefined); a missing directory on the way is `file_not_found`, or created with `createParents`.
 */
export async function locate(root: string, given: string, options: { createParents?: boolean } = {}): Promise<Place> {
  const names = namesOf(given);
  const shown = shownPath(names);
  let place: Place = { shown, real: root, stats: await look(root) };
  if (place.stats === undefined) throw fileNotFound(workspace);
  for (const [index, name] of names.entries()) {
    if (!place.stats?.isDirectory()) throw notADirectory(shownPath(names.slice(0, index)));
    place = await step(root, { given, shown, real: path.join(place.real, name) });
    const isLast = index === names.length - 1;
    if (place.stats === undefined && !isLast) {
      if (!options.createParents) throw fileNotFound(shown);
      await makeDirectory(place.real);
      // Looked at again: someone else may have put something else there in the meantime.
      place = await step(root, { given, shown, real: place.real });
    }
  }
  return place;
}

/**
 * Throws `invalid_path` unless `real` still is what it was when it was located: inside `root` with no link on the way.
 * Narrows the window in which a command that runs in the sandbox may swap a directory for a link.
 */
export async function confirm(root: string, real: string, shown: string): Promise<void> {
  const now = await realpath(real).catch(() => undefined);
  if (now !== real || !isInside(root, now)) throw invalidPath(shown, 'it changed while it was being used.');
}

/** Throws `invalid_path` unless the open file is one inside `root`: a directory on the way may have been swapped for a link before it was opened. */
export async function confirmOpen(root: string, place: Place, handle: FileHandle): Promise<void> {
  // Linux tells where an open file is, without a race. Elsewhere the path is looked up once more and must be the same file.
  const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
  if (opened !== undefined) {
    if (!isInside(root, opened)) throw invalidPath(place.shown, 'it leads out of the sandbox.');
    return;
  }
  await confirm(root, place.real, place.shown);
  const [here, there] = [await handle.stat(), await lstat(place.real)];
  if (here.ino !== there.ino || here.dev !== there.dev) throw invalidPath(place.shown, 'it changed while it was being used.');
}

async function step(root: string, at: { given: string; shown: string; real: string }): Promise<Place> {
  const stats = await look(at.real);
  if (!stats?.isSymbolicLink()) return { shown: at.shown, real: at.real, stats };
  // One answer for every link that does not end inside, dangling ones too: callers cannot probe for files outside.
  const target = await realpath(at.real).catch(() => undefined);
  if (target === undefined || !isInside(root, target)) throw invalidPath(at.given, 'it leads out of the sandbox.');
  return { shown: at.shown, real: target, stats: await look(target) };
}

async function look(real: string): Promise<Stats | undefined> {
  try {
    return await lstat(real);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function makeDirectory(real: string): Promise<void> {
  try {
    await mkdir(real, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

const isInside = (root: string, real: string): boolean => real === root || real.startsWith(root + path.sep);

export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

/** A path for a message: short, in quotes, control characters escaped. */
function quote(given: string): string {
  return JSON.stringify(given.length > 200 ? `${given.slice(0, 200)}…` : given);
}
