/** Folders that tests write into, and the undoing of what a test file set up. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

type CleanUp = () => Promise<unknown> | unknown;

const cleanUps: CleanUp[] = [];
afterAll(async () => {
  // The last thing made goes first; one that fails does not keep the others.
  const failures: unknown[] = [];
  for (const cleanUp of cleanUps.splice(0).reverse()) {
    try {
      await cleanUp();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
});

/** Runs after the last test of the file, whatever became of the tests. */
export const whenDone = (cleanUp: CleanUp): void => void cleanUps.push(cleanUp);

/** A fresh folder, removed with everything in it after the last test of the file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-test-'));
  whenDone(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
