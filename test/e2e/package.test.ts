/** The files of the package, as Node and tools that inspect packages see them. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../docs/markdown.ts';

const typeOf = (folder: string): unknown =>
  (JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')) as { type?: unknown }).type;

it('declares the modules of the team page as modules, and the program as CommonJS', () => {
  // Browsers start the service worker as a classic script, which is a valid module, too.
  const modules = readdirSync(path.join(root, 'dist/team-page')).filter((name) => name.endsWith('.js') && name !== 'worker.js');
  expect(modules.length).toBeGreaterThan(0);
  for (const name of modules) expect(readFileSync(path.join(root, 'dist/team-page', name), 'utf8'), name).toMatch(/^(import|export) /m);
  expect(typeOf('dist/team-page')).toBe('module');
  expect(typeOf('dist')).toBe('commonjs');
});
