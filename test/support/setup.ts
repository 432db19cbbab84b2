/** Runs before each test file. Files of one process share their modules, so that what belongs to a file cannot be said at the top of one. */
import { afterAll, afterEach, inject } from 'vitest';
import { workerProgram } from '../../src/service/runtimes/script/rendering/worker-file.ts';
import { readerProgram } from '../../src/service/store/database/sqlite/reader/worker-file.ts';
import { undo } from './temporary.ts';

workerProgram.file = inject('renderWorker');
readerProgram.file = inject('databaseReader');

afterEach(() => undo('test'));
afterAll(() => undo('file'));
