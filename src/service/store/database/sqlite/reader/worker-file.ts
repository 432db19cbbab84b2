/** The location of the thread's program: next to the bundle. Whoever runs the sources sets where it was bundled to. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const readerProgram = { file: path.join(path.dirname(fileURLToPath(import.meta.url)), 'database-reader.js') };

export const libsqlFile = (): string => createRequire(import.meta.url).resolve('libsql');
