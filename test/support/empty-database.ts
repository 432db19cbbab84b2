/** The database of a new service, created once for all tests: creating its tables takes longer than most tests. */
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/service/store/database/sqlite/open.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    emptyDatabase: string;
  }
}

const file = 'aops.db';

/** Runs once before all tests. The function that it returns runs after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-empty-'));
  await (await openDatabase(folder)).destroy();
  project.provide('emptyDatabase', path.join(folder, file));
  return () => rm(folder, { recursive: true, force: true });
}

/** Turns the folder into the data directory of a service that was started and immediately stopped. */
export async function putEmptyDatabase(dataDirectory: string): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  await copyFile(inject('emptyDatabase'), path.join(dataDirectory, file));
}
