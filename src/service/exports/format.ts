/**
 * The format of an export: a folder with one file of JSON lines for each table, the files of runs, an archive for each sandbox, a list of
 * these, and a manifest with the checksums of everything, which is written last. The same data always results in the same bytes,
 * whichever database it is in. docs/several-nodes.md describes it for its users.
 */
import { isObject, jsonValue } from '../../base/values.ts';
import { newerCopy } from '../newer-copy.ts';
import { exportedTables } from '../store/database/portable/tables.ts';
import { damagedExport } from './problems.ts';

/** Incremented when older versions can no longer read it. */
export const formatVersion = 1;

export const manifestName = 'manifest.json';
/** The list of the files, as JSON lines: those of runs by ID, then the sandboxes by ID. */
export const fileListName = 'files.ndjson';
export const tableFileName = (table: string): string => `tables/${table}.ndjson`;
/** A file of a run. @param key that of the file store */
export const runFileName = (key: string): string => `files/${key}`;
export const archiveName = (sandboxId: string): string => `sandboxes/${sandboxId}.tar`;

/** A file of JSON lines. */
export interface LinesEntry {
  rows: number;
  bytes: number;
  sha256: string;
}

export interface TableEntry extends LinesEntry {
  name: string;
  /** In the order in which they are in each line. */
  columns: string[];
}

export interface Manifest {
  format: number;
  /** The version of aops that wrote it. */
  version: string;
  /** The newest migration of the tables. */
  schema: string;
  /** The fingerprint of the key for secrets; null if there was no key. */
  secret_key: string | null;
  /** In an order in which each row refers to rows of the same or of earlier tables only. */
  tables: TableEntry[];
  /** The list of files, and the sum of their sizes. */
  files: LinesEntry & { content_bytes: number };
}

/** A line of the list of files. */
export interface FileEntry {
  /** Its path in the folder: `files/RUN/ID` or `sandboxes/ID.tar`. */
  path: string;
  size: number;
  sha256: string;
}

const filePath = /^(?:files\/(?<key>[\w-]{1,100}\/[\w-]{1,100})|sandboxes\/(?<sandbox>[A-Za-z0-9][\w-]{0,99})\.tar)$/;

/** What a file of the list is: a file of a run, by its key in the file store, or the archive of a sandbox. */
export type ListedFile = FileEntry & ({ key: string; sandboxId: undefined } | { key: undefined; sandboxId: string });

/** @throws AopsError `export_damaged` */
export function parseFileEntry(line: string): ListedFile {
  const value = jsonValue(line);
  const entry: Partial<FileEntry> = isObject(value) ? value : {};
  const groups = typeof entry.path === 'string' ? filePath.exec(entry.path)?.groups : undefined;
  if (groups === undefined || !isCount(entry.size) || !isSum(entry.sha256))
    throw damagedExport(fileListName, 'contains a line that is not a file');
  return { ...(entry as FileEntry), key: groups.key, sandboxId: groups.sandbox } as ListedFile;
}

/** Whether the file may be in the list after the other one. */
export const follows = (file: ListedFile, earlier: ListedFile): boolean => sortText(file) > sortText(earlier);

const sortText = ({ key, sandboxId }: ListedFile): string => (key === undefined ? `2 ${sandboxId}` : `1 ${key.split('/')[1]}`);

/**
 * Reads a manifest, which anyone may have written.
 * @param supportedSchemas the migrations that this version knows
 * @throws AopsError `export_damaged`, `export_newer`
 */
export function parseManifest(text: string, supportedSchemas: readonly string[]): Manifest {
  const value = jsonValue(text);
  const manifest: Partial<Manifest> = isObject(value) ? value : {};
  const { format, version, schema, secret_key: key, tables, files } = manifest;
  if (!Number.isSafeInteger(format) || typeof version !== 'string' || typeof schema !== 'string') throw damagedExport(manifestName);
  if ((format as number) > formatVersion) throw newerCopy('export', version, `format ${format}`);
  if (!supportedSchemas.includes(schema)) throw newerCopy('export', version, `schema ${schema}`);
  const known: readonly string[] = exportedTables;
  const places = Array.isArray(tables) ? tables.map((entry) => (isTable(entry) ? known.indexOf(entry.name) : -1)) : [-1];
  const isOrdered = places.every((place, index) => place > (places[index - 1] ?? -1));
  const hasKey = key === null || isSum(key);
  if (!isOrdered || !hasKey || !isLines(files) || !isCount((files as Manifest['files']).content_bytes)) throw damagedExport(manifestName);
  return manifest as Manifest;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const isSum = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

const isLines = (value: unknown): value is LinesEntry =>
  isObject(value) && isCount(value.rows) && isCount(value.bytes) && isSum(value.sha256);

const isTable = (value: unknown): value is TableEntry =>
  isLines(value) &&
  'name' in value &&
  'columns' in value &&
  Array.isArray(value.columns) &&
  value.columns.length > 0 &&
  value.columns.every((column) => typeof column === 'string');
