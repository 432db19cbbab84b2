/** Opens a database for queries that may take long. */
import { Kysely } from 'kysely';
import type { Database } from '../../schema.ts';
import { ReaderDialect } from './dialect.ts';
import { Reader } from './reader.ts';

/** Reads the file in a separate thread, which is started with the first query. Destroy the result to close the file. */
export const openForReading = (file: string): Kysely<Database> => new Kysely<Database>({ dialect: new ReaderDialect(new Reader(file)) });
