/** A database whose rows can be exported or imported, whichever kind it is. No service uses it at the same time. */
import type { Queries, Store } from '../database.ts';
import { ownColumns } from './tables.ts';

/** The columns of a table. */
export interface TableShape {
  readonly name: string;
  /** All exported columns: first those of the primary key, in its order, then the others by name. */
  readonly columns: readonly string[];
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
  /** The columns that contain text. */
  readonly texts: readonly string[];
}

/** What sources and targets have in common. */
export interface PortableDatabase {
  readonly store: Store;
  /** The columns of a table; undefined if the database, which may be older, does not have it. */
  shapeOf(db: Queries, table: string): Promise<TableShape | undefined>;
  /** All that is read in it shows the same moment. */
  snapshot<Result>(read: (db: Queries) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
  /** The data directory, or `host:port/database`. */
  readonly inWords: string;
}

export interface ExportSource extends PortableDatabase {
  /** The newest migration that was applied, of those that all databases have. */
  readonly schema: string;
}

/** An import that an `ImportTarget` contains the beginning of. */
export interface ImportProgress {
  /** The SHA-256 of the manifest of the export. */
  readonly export: string;
  /** The table whose rows are being imported; an empty text before the first one. All earlier tables are complete. */
  readonly table: string;
  /** How many bytes and rows of its file have been imported. */
  readonly bytes: number;
  readonly rows: number;
}

export interface ImportTarget extends PortableDatabase {
  /** The import that was begun; undefined in a database without tables. */
  progress(): Promise<ImportProgress | undefined>;
  /** Creates the tables as of a schema, unless they exist, so that an import can begin. No service starts on the database until `finish`. */
  begin(exportDigest: string, schema: string): Promise<void>;
  /** Brings the tables up to this version, if nothing else would. */
  upgrade(): Promise<void>;
  /** Makes the database usable, after `work` in the same transaction. */
  finish(work: (db: Queries) => Promise<void>): Promise<void>;
}

/** The part of the shape that describes one column. */
export interface ColumnFacts {
  readonly name: string;
  /** Its position in the primary key, from 1; 0 if it is not part of it. */
  readonly keyPosition: number;
  readonly isText: boolean;
}

/** The shape of a table with these columns; undefined if there are none. */
export function shapeOfColumns(name: string, facts: readonly ColumnFacts[]): TableShape | undefined {
  if (facts.length === 0) return undefined;
  const exportedFacts = facts.filter((fact) => ownColumns[name]?.[fact.name] === undefined);
  const key = exportedFacts.filter(({ keyPosition }) => keyPosition > 0).sort((a, b) => a.keyPosition - b.keyPosition);
  const others = exportedFacts.filter(({ keyPosition }) => keyPosition === 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  const names = (columns: readonly ColumnFacts[]): string[] => columns.map((column) => column.name);
  return { name, key: names(key), columns: names([...key, ...others]), texts: names(exportedFacts.filter(({ isText }) => isText)) };
}
