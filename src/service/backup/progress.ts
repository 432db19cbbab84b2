/** How far a backup has been written or read. */
import type { BackupInfo } from './format.ts';

/** A file that the backup does not contain, or not as it was on the disk. */
export interface Problem {
  path: string;
  /** A clause that gives the reason, without a capital letter and a full stop. */
  problem: string;
}

/** Grows while the backup is read. */
export interface ReadProgress {
  info: BackupInfo | undefined;
  sandboxes: number;
  files: number;
  /** Before compression. */
  bytes: number;
}

/** Grows while the backup is written. */
export interface BackupProgress extends ReadProgress {
  problems: Problem[];
}

export const newReadProgress = (): ReadProgress => ({ info: undefined, sandboxes: 0, files: 0, bytes: 0 });

export const newProgress = (): BackupProgress => ({ ...newReadProgress(), problems: [] });
