/** Where the program of the thread is: beside the bundle. What runs the sources says where it has bundled it to. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const readerProgram = { file: path.join(path.dirname(fileURLToPath(import.meta.url)), 'database-reader.js') };

export const libsqlFile = (): string => createRequire(import.meta.url).resolve('libsql');
