/** Backup and restore of a data directory, for the commands; loaded when one of them runs. */
export type { BackupInfo } from './format.ts';
export { nothingToBackUp } from './problems.ts';
export { newReadProgress, type ReadProgress, readBackup } from './read.ts';
export { restoreBackup } from './restore.ts';
export { holdStopped } from './stopped.ts';
export { type BackupProgress, backupBytes, type HeldDirectory, newProgress, type Problem } from './write.ts';
