/** The programs of the service's threads and sandboxes, bundled once for all tests, because Node 20 cannot run TypeScript. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rolldown } from 'rolldown';
import type { TestProject } from 'vitest/node';
import { containedBridge, databaseReader, renderWorker } from '../../rolldown.config.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    renderWorker: string;
    databaseReader: string;
    containedBridge: string;
  }
}

/** Runs once before all tests. The function that it returns runs after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(path.join(tmpdir(), 'aops-workers-'));
  for (const program of [renderWorker, databaseReader, containedBridge]) {
    const bundle = await rolldown(program);
    await bundle.write({ format: 'cjs', dir });
    await bundle.close();
  }
  project.provide('renderWorker', path.join(dir, 'render-worker.js'));
  project.provide('databaseReader', path.join(dir, 'database-reader.js'));
  project.provide('containedBridge', path.join(dir, 'contained-bridge.js'));
  return () => rm(dir, { recursive: true, force: true });
}
