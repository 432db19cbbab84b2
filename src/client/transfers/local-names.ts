/** Checks whether names from the service can be used for local files, one by one and all together. Pure. */
import { AopsError, exitCodes } from '../../base/errors.ts';

/** Maximum number of files in a tree, and of nested folders. */
export const treeLimits = { files: 100_000, depth: 64 } as const;

/** Maximum bytes of a file name on every common file system, and of a path below the target folder. */
const maxNameBytes = 255;
const maxPathBytes = 3_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const badName = /[\u0000-\u001f\u007f-\u009f\\]|[. ]$|^(con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³]) *(\.|:|$)/i;

/** Half of a character, which has no bytes in UTF-8. */
const loneSurrogate = /\p{Surrogate}/u;

/**
 * The parts of a relative name from the service.
 * @throws AopsError `unsafe_name` when it is absolute, leads out of the folder, or could mean something else on another system
 */
export function safeParts(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const problem = nameProblem(name, parts);
  if (problem === undefined) return parts;
  throw unsafeName(
    `The service names a file ${JSON.stringify(name.length > 300 ? `${name.slice(0, 300)}...` : name)}, which is not safe to write: ${problem}.`,
    'Nothing was written. Read it with `aops sandbox cat` and choose a name yourself, or pull the other files by name.',
  );
}

function nameProblem(name: string, parts: readonly string[]): string | undefined {
  if (parts.length === 0) return 'it is empty';
  if (/^(\/|[a-z]:)/i.test(name)) return 'it is absolute';
  if (parts.includes('..')) return 'it leads out of the folder';
  if (parts.some((part) => badName.test(part)))
    return 'it is reserved, ends with a dot or a space, or has a backslash or a control character';
  if (loneSurrogate.test(name)) return 'it is not valid text';
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
  const namesByKey = new Map<string, { name: string; kind: 'file' | 'folder' }>();
  for (const name of names) {
    const parts = safeParts(name);
    for (let length = 1; length <= parts.length; length += 1) {
      const path = parts.slice(0, length).join('/');
      const kind = length === parts.length ? 'file' : 'folder';
      const key = foldCase(path);
      const existing = namesByKey.get(key);
      if (existing === undefined) namesByKey.set(key, { name: path, kind });
      else if (kind === 'file' || existing.kind === 'file' || existing.name !== path) throw clash(existing.name, path);
    }
  }
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

const unsafeName = (message: string, hint: string): AopsError =>
  new AopsError(message, { code: 'unsafe_name', exit: exitCodes.failure, hint });

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
