/** Reading the files of a sandbox, wherever they are: on this machine (Sandbox), or where the steps of its runs have recorded them. */
import type { Readable } from 'node:stream';
import type { ByteRange } from '../../base/byte-range.ts';
import type { SandboxEntry } from './entry.ts';

/** A file below a directory, as an archive contains it. */
export interface TreeFile {
  /** `/workspace/...` */
  displayPath: string;
  /** Bytes, when it was found. */
  size: number;
  /** Its content; undefined if it can no longer be read, or is larger than `maxBytes`. */
  content(maxBytes: number): Promise<FileContent | undefined>;
}

/** What a file contained at one moment. Its content may change while it is read: then it does not match its checksum. */
export interface FileContent {
  /** Bytes. */
  size: number;
  /** In hex. */
  sha256: string;
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Call it when the chunks are no longer needed. */
  close?(): Promise<void>;
}

export interface FileTree {
  /** The directory that was walked, or that contains the file that was. */
  displayPath: string;
  /** The contents of a directory are in its place. */
  files: readonly TreeFile[];
}

/**
 * The files of one sandbox. Every path can be written as `/workspace/a`, `a`, or `./a`. All functions throw a ServiceError:
 * `invalid_path` (400), `file_not_found` (404), `not_a_file` or `not_a_directory` (400).
 */
export interface SandboxFiles {
  readonly id: string;
  /** The files and directories in a directory, by name, without links and devices. */
  list(input: string): Promise<SandboxEntry[]>;
  /** The entry at a path. */
  stat(input: string): Promise<SandboxEntry>;
  /** The first `limit` bytes of a file. */
  read(input: string, limit: number): Promise<{ entry: SandboxEntry; bytes: Buffer; truncated: boolean }>;
  /**
   * A file as a stream of one version of it, so that a later replacement does not mix in. `range` is limited to the file; a range beyond
   * its end gives an empty stream. `size` is that of the whole file. Read or destroy the stream.
   */
  openRead(input: string, range?: ByteRange): Promise<{ stream: Readable; size: number; modifiedAt: Date }>;
  /**
   * All files below a directory, or the file at the path. @param isHidden whether to leave out a path
   * @throws also ServiceError `too_many_files`, `too_deep`
   */
  walk(input: string, isHidden?: (displayPath: string) => boolean): Promise<FileTree>;
}
