/** Runs before each test file. Files of one process share their modules, so code for each file cannot be at the top of a module. */
import { afterAll, afterEach, expect, inject, vi } from 'vitest';
import { bridgeProgram } from '../../src/service/contained/network/bridge-file.ts';
import { workerProgram } from '../../src/service/runtimes/script/rendering/worker-file.ts';
import { readerProgram } from '../../src/service/store/database/sqlite/reader/worker-file.ts';
import { undo } from './temporary.ts';
import { timeLimits } from './time-limits.ts';

workerProgram.file = inject('renderWorker');
readerProgram.file = inject('databaseReader');
bridgeProgram.file = inject('containedBridge');

// For each file anew, because the files of one process share the configuration.
vi.setConfig(timeLimits(expect.getState().testPath ?? '', inject('timeLimit')));

afterEach(() => undo('test'));
afterAll(() => undo('file'));
