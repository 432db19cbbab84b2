/** The entry point of the single-file executable: does what the launcher does, without files next to it. */
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { compileWebAssemblyOnce } from '../src/cli/program/web-assembly.ts';
import { configPaths, homeFolder } from '../src/config/paths.ts';
import { embeddedLoader } from './chunks.ts';
import { embedded, script } from './embedded.ts';
import { runProgramFile } from './programs.ts';
import { unpackGroup } from './unpack.ts';

/** Packages that the bundle loads from the disk, and the group of files that contains them. */
const groups: Readonly<Record<string, string>> = { libsql: 'service', 'playwright-core': 'browser' };

const { env, argv } = process;
// The name contains a hash of all files, so versions do not share a folder.
const folder = path.join(cacheFolder(), 'executable', embedded('folder').toString());

const load = embeddedLoader(folder, (name) => {
  const group = groups[name];
  if (group === undefined) return;
  // The service looks for the library of the browser before it loads it.
  for (const one of group === 'service' ? Object.values(groups) : [group]) unpackGroup(one, folder);
});

if (!runProgramFile(argv.slice(2), load)) {
  argv[1] = script;
  const { main } = load('./main.js') as { main: typeof import('../src/main.ts').main };
  // Not imported, because the version and completion do not need it.
  const prepare = (): void => compileWebAssemblyOnce((load('node:v8') as typeof import('node:v8')).setFlagsFromString);
  void main(process, prepare, (bytes) => fs.writeSync(1, bytes)).then((code) => {
    process.exitCode = code;
  });
}

/** The folder of caches. A user without one can use only commands that unpack nothing; the others report what to set. */
function cacheFolder(): string {
  try {
    return configPaths(env, homeFolder(env, process.platform), process.platform, process.cwd()).cache;
  } catch {
    return path.dirname(process.execPath);
  }
}
