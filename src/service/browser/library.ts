/** The library that controls the browser. It is large and few users need it, so it is installed separately and loaded on first use. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { peerDependencies } from '../../../package.json' with { type: 'json' };
import { ServiceError } from '../errors.ts';

const name = 'playwright-core';

/** Loads the library. Throws ServiceError 400 `no_browser` with the command that installs it. */
export async function browserLibrary(): Promise<typeof import('playwright-core')> {
  requireBrowserLibrary();
  return import('playwright-core');
}

/** Checks that the library is installed, without loading it. Throws like `browserLibrary`. */
export function requireBrowserLibrary(): void {
  try {
    createRequire(import.meta.url).resolve(name);
  } catch {
    throw new ServiceError(
      400,
      'no_browser',
      `${name}, the library that controls the browser, is not installed. Install it with \`${installCommand(fileURLToPath(import.meta.url))}\`, then restart the service.`,
    );
  }
}

/**
 * The command that installs the library where this program finds it: next to the package, which is in a project or installed
 * globally, or in a clone.
 * @param file a file of the program
 */
export function installCommand(file: string, exists: (file: string) => boolean = existsSync): string {
  const library = `${name}@${peerDependencies[name].replace(/^\W/, '')}`;
  const words = file.split(path.sep);
  const index = words.lastIndexOf('node_modules');
  if (index < 0) return 'npm ci';
  const project = words.slice(0, index).join(path.sep);
  return exists(path.join(project, 'package.json')) ? `npm install --prefix '${project}' ${library}` : `npm install --global ${library}`;
}
