/** Folders that tests write into, and the undoing of what they set up. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

type CleanUp = () => Promise<unknown> | unknown;

/** What is undone when (setup.ts sees to it). */
const cleanUps: Record<'test' | 'file', CleanUp[]> = { test: [], file: [] };

/** Runs after the test, whatever became of it. */
export const afterTest = (cleanUp: CleanUp): void => void cleanUps.test.push(cleanUp);

/** Runs after the last test of the file, whatever became of the tests. */
export const whenDone = (cleanUp: CleanUp): void => void cleanUps.file.push(cleanUp);

/** Undoes what was set up for a test or for a file. The last thing made goes first; one that fails does not keep the others. */
export async function undo(what: 'test' | 'file'): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanUp of cleanUps[what].splice(0).reverse()) {
    try {
      await cleanUp();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** A fresh folder, removed with everything in it after the last test of the file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await newFolder();
  whenDone(() => remove(folder));
  return folder;
}

/** A fresh folder, removed with everything in it after the test. */
export async function temporaryDirectory(): Promise<string> {
  const folder = await newFolder();
  afterTest(() => remove(folder));
  return folder;
}

const newFolder = (): Promise<string> => mkdtemp(path.join(tmpdir(), 'aops-test-'));
const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
