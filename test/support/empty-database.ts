/** The database of a service that has done nothing yet, made once for all tests: making its tables takes longer than most of them. */
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

/** Runs once, before all tests. What it returns runs after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-empty-'));
  await (await openDatabase(folder)).destroy();
  project.provide('emptyDatabase', path.join(folder, file));
  return () => rm(folder, { recursive: true, force: true });
}

/** Makes the folder a data directory as a service leaves it that was started and stopped at once. */
export async function putEmptyDatabase(dataDirectory: string): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  await copyFile(inject('emptyDatabase'), path.join(dataDirectory, file));
}
