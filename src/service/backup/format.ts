/**
 * The format of a backup: a gzipped tar archive of what belongs to a data directory. Its first entry says what it is, its last one
 * has the SHA-256 of every file before it, as `sha256sum -c` reads it. So it can be looked at, and in need unpacked, without aops.
 */
import { isObject, jsonValue } from '../../base/values.ts';
import { damaged, newerBackup, shown } from './problems.ts';

/** Raised when an older version could not read it. */
export const formatVersion = 1;

export const infoName = 'aops-backup.json';
export const sumsName = 'SHA256SUMS';
export const databaseName = 'aops.db';
/** What lies beside the database: the key of sealed secrets, and the token of the owner. */
export const keyNames = ['secrets.key', 'token'] as const;
/** Folders of a sandbox that are kept. Uploads in progress are not: nobody goes on with them. */
export const sandboxFolders = ['workspace', 'tmp', 'browser'] as const;

/** Bytes of a name: what is left of PATH_MAX (4,096 bytes on Linux) for the data directory itself. */
export const longestName = 3_584;
/** Entries of a backup. All names are in memory when one is read. */
export const largestBackup = 10_000_000;

/** What a backup says about itself. */
export interface BackupInfo {
  format: number;
  /** The version of aops that wrote it. */
  version: string;
  /** The last migration of its database. */
  schema: string;
  /** The moment that it shows, ISO 8601. */
  created_at: string;
  agents: number;
  runs: number;
  /** Runs that had not ended. */
  open_runs: number;
}

/** @throws AopsError `backup_damaged`, `backup_newer` */
export function parseInfo(text: string, known: readonly string[]): BackupInfo {
  const value = jsonValue(text);
  const info: Partial<BackupInfo> = isObject(value) ? value : {};
  if (!Number.isSafeInteger(info.format) || typeof info.version !== 'string' || typeof info.schema !== 'string')
    throw damaged('it does not say what it is');
  if ((info.format as number) > formatVersion) throw newerBackup(info.version, `the format ${info.format}`);
  if (!known.includes(info.schema)) throw newerBackup(info.version, `the schema ${info.schema}`);
  return info as BackupInfo;
}

const topFiles: readonly string[] = [databaseName, ...keyNames];
const word = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** Throws unless a backup has an entry of such a name: names come out of a file that anybody may have written. */
export function checkName(name: string, type: 'file' | 'folder' | 'link'): void {
  const [first = '', id = '', third = '', ...rest] = name.split('/');
  const parts = [first, id, third, ...rest].slice(0, name.split('/').length);
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));
  const isTop = parts.length === 1 && type === 'file' && topFiles.includes(first);
  const isRunFile = first === 'files' && parts.length === 3 && type === 'file' && word.test(id) && word.test(third);
  const isSandbox = first === 'sandboxes' && word.test(id) && (sandboxFolders as readonly string[]).includes(third);
  const inSandbox = isSandbox && (type === 'folder' ? parts.length >= 3 : parts.length > 3);
  if (!isPlain || !(isTop || isRunFile || inSandbox)) throw damaged(`${shown(name)} is no place for anything in it`);
}

/** A line of SHA256SUMS; names with line breaks are escaped as coreutils do. */
export function sumLine(sum: string, name: string): string {
  const escaped = name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `${escaped === name ? '' : '\\'}${sum}  ${escaped}\n`;
}

/** The sums by name. @throws AopsError `backup_damaged` */
export function parseSums(text: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, escaped, sum, name] = /^(\\?)([0-9a-f]{64})[ ][ *](.+)$/.exec(line) ?? [];
    if (sum === undefined || name === undefined) throw damaged('its checksums cannot be read');
    sums.set(escaped === '' ? name : name.replace(/\\([nr\\])/g, (_, letter: string) => ({ n: '\n', r: '\r' })[letter] ?? '\\'), sum);
  }
  return sums;
}
