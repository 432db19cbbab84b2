/** Runs before each test file. Files of one process share their modules, so code for each file cannot be at the top of a module. */
import { afterAll, afterEach, inject } from 'vitest';
import { workerProgram } from '../../src/service/runtimes/script/rendering/worker-file.ts';
import { readerProgram } from '../../src/service/store/database/sqlite/reader/worker-file.ts';
import { undo } from './temporary.ts';

workerProgram.file = inject('renderWorker');
readerProgram.file = inject('databaseReader');

afterEach(() => undo('test'));
afterAll(() => undo('file'));
