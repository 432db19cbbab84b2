/**
 * The record of a sandbox: what its folders contain, so that another machine can create the same files. The bytes of files are stored
 * elsewhere, several small files in one stored file.
 */

/** The folders of a sandbox that belong to its run: `home` contains the session of its agent. */
export const runFolders = ['workspace', 'tmp', 'browser', 'home'] as const;

/** What programs can create again at any time is not recorded, and is left as it is. */
const leftOut: ReadonlySet<string> = new Set(['browser/downloads', 'home/.cache', 'home/.npm']);

/** Whether an entry is part of the record of a scan, if its folder is. @param path relative to the folder of the sandbox */
export const isRecorded = (path: string): boolean => !leftOut.has(path);

/** Whether scans find a path; other recorded files are not in the folders of the run. */
export const isScanned = (path: string): boolean => (runFolders as readonly string[]).includes(path.split('/', 1)[0] as string);

/** The longest recorded path, in bytes: what an index of Postgres can contain, and longer than any path of the interface. */
export const maxPathBytes = 2_100;

/** Where the bytes of a file are. */
export interface StoredBytes {
  /** Of the stored file. */
  key: string;
  /** Of the first byte in it. */
  position: number;
}

export interface RecordedFile {
  type: 'file';
  /** Relative to the folder of the sandbox, with slashes: `workspace/a/b`. */
  path: string;
  /** Permissions. */
  mode: number;
  /** In milliseconds. */
  modifiedAt: number;
  /** Bytes. */
  size: number;
  /** In hex. */
  sha256: string;
  /** Valid UTF-8 without NUL at its start. */
  isText: boolean;
  /** Null for an empty file. */
  stored: StoredBytes | null;
}

export interface RecordedFolder {
  type: 'folder';
  path: string;
  mode: number;
  modifiedAt: number;
}

export interface RecordedLink {
  type: 'link';
  path: string;
  /** Relative to its folder if it leads into the sandbox, so that it is valid on every machine. */
  target: string;
  modifiedAt: number;
}

export type RecordedEntry = RecordedFile | RecordedFolder | RecordedLink;

/**
 * What the system reports of an unchanged entry. A change within the granularity of its times would not be noticed, so an entry that was
 * changed a moment ago has none, and is read again.
 */
export interface Stamp {
  size: number;
  mtimeMs: number;
  ctimeMs: number;
  ino: number;
}

/** An entry, and how to recognise that it is unchanged on this machine. */
export interface KnownEntry {
  entry: RecordedEntry;
  stamp: Stamp | undefined;
}

/** By path. */
export type KnownEntries = ReadonlyMap<string, KnownEntry>;

/** The path of the folder that contains an entry; empty for the folders of the sandbox. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Folders before their contents. */
export const byPath = (a: { path: string }, b: { path: string }): number => (a.path < b.path ? -1 : 1);
