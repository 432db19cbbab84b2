/** What a tar archive contains, as far as aops reads and writes it: files, folders and symbolic links. */

export type TarType = 'file' | 'folder' | 'link';

export interface TarEntry {
  /** With slashes between its parts. That of a folder has none at the end. */
  name: string;
  type: TarType;
  /** Bytes of a file; 0 for folders and links. */
  size: number;
  /** Permission bits. */
  mode: number;
  /** Seconds since the epoch. */
  modifiedAt: number;
  /** Where a link leads. */
  target?: string;
  /** SHA-256 of the content in hex, if the archive contains it. */
  sha256?: string;
}

/** The keyword under which an extended header contains the SHA-256 of a file. POSIX reserves names in capitals for vendors. */
export const sumKeyword = 'AOPS.sha256';

/** The archive is not valid. The message is a clause about it: "it ends too early". */
export class InvalidArchiveError extends Error {}
