/** Backup and restore of a data directory, for the commands; loaded when one of them runs. */
export type { BackupInfo } from './format.ts';
export type { HeldDirectory } from './held-directory.ts';
export { type BackupProgress, newProgress, newReadProgress, type Problem, type ReadProgress } from './progress.ts';
export { readBackup } from './read.ts';
export { namesIn, removeData } from './remove.ts';
export { restoreBackup } from './restore.ts';
export { holdStopped } from './stopped.ts';
export { backupBytes } from './write.ts';
