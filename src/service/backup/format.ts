/**
 * The format of a backup: a gzipped tar archive of a data directory. Its first entry describes the backup, and its last one contains
 * the SHA-256 of every file before it, in the format of `sha256sum -c`. It can be inspected, and if need be unpacked, without aops.
 */
import { isObject, jsonValue } from '../../base/values.ts';
import { newerCopy } from '../newer-copy.ts';
import { damagedBackup, quoteName } from './problems.ts';

/** Incremented when older versions can no longer read it. */
export const formatVersion = 2;

export const infoName = 'aops-backup.json';
export const sumsName = 'SHA256SUMS';
export const databaseName = 'aops.db';
/** The files next to the database: the key of sealed secrets, and the token of the owner. */
export const keyNames = ['secrets.key', 'token'] as const;
/**
 * The folders of a sandbox that are backed up; `home` contains the sessions of agents. Uploads in progress are not: no client could
 * continue them.
 */
export const sandboxFolders = ['workspace', 'tmp', 'browser', 'home'] as const;

/** Whether an entry begins a sandbox. Those without files have no entries. */
export const isWorkspace = (name: string): boolean => name.endsWith('/workspace') && name.split('/').length === 3;

/** Bytes of a name. The rest of PATH_MAX (4,096 bytes on Linux) is for the data directory itself. */
export const maxNameBytes = 3_584;
/** Entries of a backup. Reading one keeps all names in memory. */
export const maxBackupEntries = 10_000_000;

/** The description in a backup. */
export interface BackupInfo {
  format: number;
  /** The version of aops that wrote it. */
  version: string;
  /** The last migration of its database. */
  schema: string;
  /** The moment whose state it contains, ISO 8601. */
  created_at: string;
  agents: number;
  runs: number;
  /** Runs that had not ended at that moment. */
  open_runs: number;
}

/** @throws AopsError `backup_damaged`, `backup_newer` */
export function parseInfo(text: string, supportedSchemas: readonly string[]): BackupInfo {
  const value = jsonValue(text);
  const info: Partial<BackupInfo> = isObject(value) ? value : {};
  if (!Number.isSafeInteger(info.format) || typeof info.version !== 'string' || typeof info.schema !== 'string')
    throw damagedBackup('its description cannot be read');
  if ((info.format as number) > formatVersion) throw newerCopy('backup', info.version, `format ${info.format}`);
  if (!supportedSchemas.includes(info.schema)) throw newerCopy('backup', info.version, `schema ${info.schema}`);
  return info as BackupInfo;
}

const topFiles: readonly string[] = [databaseName, ...keyNames];
const word = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** Throws unless backups contain entries with this name: names come from a file that anyone may have written. */
export function checkName(name: string, type: 'file' | 'folder' | 'link'): void {
  const [first = '', id = '', third = '', ...remaining] = name.split('/');
  const parts = [first, id, third, ...remaining].slice(0, name.split('/').length);
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));
  const isTop = parts.length === 1 && type === 'file' && topFiles.includes(first);
  const isRunFile = first === 'files' && parts.length === 3 && type === 'file' && word.test(id) && word.test(third);
  const isSandbox = first === 'sandboxes' && word.test(id) && (sandboxFolders as readonly string[]).includes(third);
  const inSandbox = isSandbox && (type === 'folder' ? parts.length >= 3 : parts.length > 3);
  if (!isPlain || !(isTop || isRunFile || inSandbox)) throw damagedBackup(`a backup contains no ${type} named ${quoteName(name)}`);
}

/** A line of SHA256SUMS; names with line breaks are escaped as in coreutils. */
export function sumLine(sum: string, name: string): string {
  const escapedName = name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `${escapedName === name ? '' : '\\'}${sum}  ${escapedName}\n`;
}

/** The checksums by name. @throws AopsError `backup_damaged` */
export function parseSums(text: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const line of text.split('\n').filter((text) => text !== '')) {
    const match = /^(\\?)([0-9a-f]{64})[ ][ *](.+)$/.exec(line);
    if (match === null) throw damagedBackup('its checksums cannot be read');
    const [, escaped, sum, name] = match as unknown as [string, string, string, string];
    sums.set(escaped === '' ? name : name.replace(/\\([nr\\])/g, (_, letter: string) => ({ n: '\n', r: '\r' })[letter] ?? '\\'), sum);
  }
  return sums;
}
