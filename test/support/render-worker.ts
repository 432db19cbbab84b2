/** The program of the threads that render templates, bundled once for all tests: Node 20 runs no TypeScript. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rolldown } from 'rolldown';
import type { TestProject } from 'vitest/node';
import { renderWorker } from '../../rolldown.config.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    renderWorker: string;
  }
}

/** Runs once, before all tests. What it returns runs after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(path.join(tmpdir(), 'aops-render-worker-'));
  const bundle = await rolldown(renderWorker);
  await bundle.write({ format: 'cjs', dir });
  await bundle.close();
  project.provide('renderWorker', path.join(dir, 'render-worker.js'));
  return () => rm(dir, { recursive: true, force: true });
}
