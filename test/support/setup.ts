/** Runs before each test file. Files of one process share their modules, so that what belongs to a file cannot be said at the top of one. */
import { afterAll, afterEach } from 'vitest';
import { undo } from './temporary.ts';

afterEach(() => undo('test'));
afterAll(() => undo('file'));
