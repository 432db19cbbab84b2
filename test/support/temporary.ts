/** Temporary folders, and clean-up after tests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

type CleanUp = () => Promise<unknown> | unknown;

/** The clean-up functions by time; setup.ts calls them. */
const cleanUps: Record<'test' | 'file', CleanUp[]> = { test: [], file: [] };

/** Runs after the test, even if it fails. */
export const afterTest = (cleanUp: CleanUp): void => void cleanUps.test.push(cleanUp);

/** Runs after the last test of the file, even if tests fail. */
export const whenDone = (cleanUp: CleanUp): void => void cleanUps.file.push(cleanUp);

/** Cleans up after a test or a file, in reverse order. A failure does not prevent the other steps. */
export async function undo(scope: 'test' | 'file'): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanUp of cleanUps[scope].splice(0).reverse()) {
    try {
      await cleanUp();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** A new folder, removed with its contents after the last test of the file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await newFolder();
  whenDone(() => remove(folder));
  return folder;
}

/** A new folder, removed with its contents after the test. */
export async function temporaryDirectory(): Promise<string> {
  const folder = await newFolder();
  afterTest(() => remove(folder));
  return folder;
}

const newFolder = (): Promise<string> => mkdtemp(path.join(tmpdir(), 'aops-test-'));
const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
