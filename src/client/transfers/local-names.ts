/**
 * Checks whether names from the service can be used for local files, one by one and all together. A name that leads out of the folder, or
 * that is not a name at all, is never used. Others cannot be used everywhere: Windows reserves some, and not every disk distinguishes `a`
 * from `A`.
 */
import { platform as thisPlatform } from 'node:os';
import { AopsError, exitCodes } from '../../base/errors.ts';

/** Maximum number of files in a tree, and of nested folders. */
export const treeLimits = { files: 100_000, depth: 64 } as const;

/** Maximum bytes of a file name on every common file system, and of a path below the target folder. */
const maxNameBytes = 255;
const maxPathBytes = 3_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/** A part of a path that Windows reserves, shortens, or takes for something else. */
const badOnWindows = /[\\<>:"|?*]|[. ]$|^(con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³]) *(\.|$)/i;

/** Half of a character, which has no bytes in UTF-8. */
const loneSurrogate = /\p{Surrogate}/u;

/** A name that cannot be used, and why: a clause such as "it has a control character". */
export interface NameProblem {
  name: string;
  reason: string;
}

/**
 * The parts of a relative name from the service.
 * @param platform the system on which the file is written
 * @throws AopsError `unsafe_name` when it is absolute, leads out of the folder, or could mean something else on this system
 */
export function safeParts(name: string, platform: NodeJS.Platform = thisPlatform()): string[] {
  const parts = partsOf(name);
  const reason = hostileReason(name, parts) ?? unusableReason(name, parts, platform);
  if (reason === undefined) return parts;
  throw unsafeName(name, reason);
}

const partsOf = (name: string): string[] => name.split('/').filter((part) => part !== '' && part !== '.');

/** Why no service that means well would name a file like this. */
function hostileReason(name: string, parts: readonly string[]): string | undefined {
  if (parts.length === 0) return 'it is empty';
  if (name.startsWith('/')) return 'it is absolute';
  if (parts.includes('..')) return 'it leads out of the folder';
  return undefined;
}

function unusableReason(name: string, parts: readonly string[], platform: NodeJS.Platform): string | undefined {
  if (controlCharacter.test(name)) return 'it has a control character';
  if (loneSurrogate.test(name)) return 'it is not valid text';
  if (platform === 'win32' && parts.some((part) => badOnWindows.test(part))) return 'Windows does not allow it';
  if (parts.some((part) => Buffer.byteLength(part) > maxNameBytes)) return `a part of it is longer than ${maxNameBytes} bytes`;
  if (Buffer.byteLength(name) > maxPathBytes) return `it is longer than ${maxPathBytes} bytes`;
  if (parts.length > treeLimits.depth + 1) return `it is more than ${treeLimits.depth} folders deep`;
  return undefined;
}

/**
 * Checks that all files of a tree can exist side by side, even on file systems where `a` and `A` are the same name.
 * @param names relative names of files
 * @throws AopsError `unsafe_name`, `clashing_names` or `too_many_files`
 */
export function checkNames(names: readonly string[]): void {
  if (names.length > treeLimits.files) throw tooManyFiles();
  for (const name of names) safeParts(name);
  const [problem] = findClashes(names, () => false);
  if (problem !== undefined) throw clash(problem.existing, problem.part);
}

/**
 * The names of a tree that cannot be used on this system; all others can, side by side.
 * @param names relative names of files
 * @param distinguishes whether two names in the same folder are two files on this disk. Called only for names that some disks confuse
 * @throws AopsError `unsafe_name` or `clashing_names` for what no sandbox can contain, and `too_many_files`
 */
export function unusableNames(
  names: readonly string[],
  distinguishes: (name: string, otherName: string) => boolean,
  platform: NodeJS.Platform = thisPlatform(),
): NameProblem[] {
  if (names.length > treeLimits.files) throw tooManyFiles();
  const problems: NameProblem[] = [];
  const usableNames: string[] = [];
  for (const name of names) {
    const parts = partsOf(name);
    const hostile = hostileReason(name, parts);
    if (hostile !== undefined) throw unsafeName(name, hostile);
    const reason = unusableReason(name, parts, platform);
    if (reason === undefined) usableNames.push(name);
    else problems.push({ name, reason });
  }
  for (const { name, part, existing } of findClashes(usableNames, distinguishes)) {
    if (part === existing) throw clash(existing, part);
    problems.push({ name, reason: `it is the same as ${JSON.stringify(existing)} on this disk` });
  }
  return problems;
}

interface Clash {
  /** The whole name, and the part from its beginning that clashes. */
  name: string;
  part: string;
  /** What uses that place already. */
  existing: string;
}

/** The names that have the place of one before them: the same file, or a file in place of a folder. */
function findClashes(names: readonly string[], distinguishes: (name: string, otherName: string) => boolean): Clash[] {
  const clashes: Clash[] = [];
  const usersByKey = new Map<string, { path: string; kind: 'file' | 'folder' }[]>();
  for (const name of names) {
    const parts = partsOf(name);
    let found: Clash | undefined;
    const places: { key: string; path: string; kind: 'file' | 'folder' }[] = [];
    for (let length = 1; length <= parts.length && found === undefined; length += 1) {
      const path = parts.slice(0, length).join('/');
      const kind = length === parts.length ? 'file' : 'folder';
      const key = foldCase(path);
      const same = usersByKey.get(key)?.find((user) => user.path === path || areTheSame(user.path, path, distinguishes));
      if (same === undefined) places.push({ key, path, kind });
      else if (kind === 'file' || same.kind === 'file' || same.path !== path) found = { name, part: path, existing: same.path };
    }
    if (found === undefined) for (const { key, ...user } of places) usersByKey.set(key, [...(usersByKey.get(key) ?? []), user]);
    else clashes.push(found);
  }
  return clashes;
}

/** Whether two paths that differ at most in case and the like are the same on this disk. */
function areTheSame(path: string, otherPath: string, distinguishes: (name: string, otherName: string) => boolean): boolean {
  const otherParts = otherPath.split('/');
  return path.split('/').every((part, index) => {
    const otherPart = otherParts[index] as string;
    return part === otherPart || !distinguishes(part, otherPart);
  });
}

/** The name as compared by file systems that ignore case (full case folding), normalise, or skip invisible characters. */
const foldCase = (name: string): string =>
  name
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .normalize('NFD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC');

function clash(name: string, otherName: string): AopsError {
  const names = name === otherName ? `${JSON.stringify(name)} twice` : `${JSON.stringify(name)} and ${JSON.stringify(otherName)}`;
  return new AopsError(`The service names ${names}, which are the same file on some systems.`, {
    code: 'clashing_names',
    exit: exitCodes.failure,
    hint: 'Nothing was written. Pull them one after another, into different folders (--to).',
  });
}

function unsafeName(name: string, reason: string): AopsError {
  const shortName = JSON.stringify(name.length > 300 ? `${name.slice(0, 300)}...` : name);
  return new AopsError(`The service names a file ${shortName}, which is not safe to write: ${reason}.`, {
    code: 'unsafe_name',
    exit: exitCodes.failure,
    hint: 'Nothing was written. Read it with `aops sandbox cat` and choose a name yourself, or pull the other files by name.',
  });
}

export const tooManyFiles = (): AopsError =>
  new AopsError(`There are more than ${treeLimits.files.toLocaleString('en')} files and folders, which is too many for one pull.`, {
    code: 'too_many_files',
    exit: exitCodes.failure,
    hint: 'Nothing was written. Pull its folders one after another; `aops sandbox ls RUN` lists them.',
  });

export const tooDeep = (): AopsError =>
  new AopsError(`There are more than ${treeLimits.depth} levels of folders, or folders that contain one another.`, {
    code: 'too_deep',
    exit: exitCodes.failure,
    hint: 'Nothing was written. Pull a deeper folder: `aops sandbox pull RUN PATH --to DIR`.',
  });
