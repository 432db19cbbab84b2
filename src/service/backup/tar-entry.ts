/** What an archive contains, as far as backups need it: files, folders and symbolic links. */

export type TarType = 'file' | 'folder' | 'link';

export interface TarEntry {
  /** With slashes between its parts, and none at the end. */
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
}
