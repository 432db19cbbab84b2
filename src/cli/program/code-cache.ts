/**
 * Remembers what V8 compiled, so that the next process does not compile it again: a fifth of the CPU time of a short command. Node 22.1
 * and later can do this by themselves, but commands take a sixth longer with it.
 */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import Module from 'node:module';
import path from 'node:path';
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
import { configPaths, homeFolder } from '../../config/paths.ts';
import { chunkLoader } from './chunk-loader.ts';
import { type CompiledScript, commandHash, maxCommands, readCode, writeCode } from './code-files.ts';
import { compileWebAssemblyOnce } from './web-assembly.ts';

/** The names of chunks contain a hash of their contents, so a name stands for one content. */
const chunkName = /-[\w-]{8}\.js$/;

/** What is used of Node's CommonJS loader. */
interface Loader {
  /** Loads a module for another one. Internal, but tools for tracing have replaced it for as long as it has existed. */
  _load(id: string, parent?: NodeModule, isMain?: boolean): unknown;
  readonly _cache: Readonly<Record<string, { exports: unknown } | undefined>>;
}

/**
 * Sets up V8 for a process that runs the bundle; call it before the bundle's chunks are loaded. Never throws: without a folder that
 * belongs to this user, everything is compiled as usual. As in Node, NODE_COMPILE_CACHE names another folder, and
 * NODE_DISABLE_COMPILE_CACHE=1 turns the cache off.
 * @param bundle the folder of the bundle
 */
export function useCodeCache(host: NodeJS.Process, bundle: string): void {
  const { env } = host;
  // V8 rejects code that was compiled with other flags, so this comes first.
  compileWebAssemblyOnce(setFlagsFromString);
  if (env.NODE_DISABLE_COMPILE_CACHE === '1') return;
  const loader = Module as unknown as Loader;
  try {
    const folder =
      env.NODE_COMPILE_CACHE || path.join(configPaths(env, homeFolder(env, host.platform), host.platform, host.cwd()).cache, 'code');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(folder, host)) return;
    cacheChunks(loader, bundle, path.join(folder, cachedDataVersionTag().toString(16)), host);
  } catch {
    // The cache is only for speed; a disk can be full or read-only.
  }
}

/** Compiles the chunks below `bundle` with the code in `folder`, and adds what this command compiles when the process ends. */
function cacheChunks(loader: Loader, bundle: string, folder: string, host: NodeJS.Process): void {
  const { _load: loadFile, _cache: loadedFiles } = loader;
  const command = commandHash(wordsOf(host.argv.slice(2)));
  const knownCommands = new Map<string, readonly number[]>();
  const added = new Map<string, CompiledScript>();
  const requireFile = Module.createRequire(path.join(bundle, 'main.js'));
  const load = chunkLoader({
    folder: bundle,
    find(name) {
      const file = path.join(bundle, name);
      const source = chunkName.test(name) && loadedFiles[file] === undefined ? readChunk(file) : undefined;
      if (source === undefined) return undefined;
      const compiled = readCode(path.join(folder, name));
      knownCommands.set(name, compiled?.commands ?? []);
      return { source, code: compiled?.code };
    },
    // Node itself reports a chunk that is missing.
    requireOther: (id) => requireFile(id.startsWith('./') ? path.join(bundle, id) : id),
    onCompiled(name, script) {
      const known = script.cachedDataRejected ? [] : (knownCommands.get(name) ?? []);
      if (!known.includes(command) && known.length < maxCommands) added.set(name, { script, commands: [...known, command] });
    },
  });
  loader._load = (id, parent, isMain) =>
    id.startsWith('./') && parent !== undefined && path.dirname(parent.filename) === bundle && chunkName.test(id)
      ? load(id)
      : loadFile(id, parent, isMain);
  host.on('exit', () => {
    if (added.size > 0) writeCode(folder, added, host.pid);
  });
}

/** The words that name the command. Other arguments do not matter: IDs and texts begin with something else, or come later. */
const wordsOf = (args: readonly string[]): string[] => args.slice(0, 2).filter((word) => /^[a-z_-]+$/.test(word));

/** The source of a chunk; undefined if there is no such file. Throws if it cannot be read now, as with too many open files. */
function readChunk(file: string): string | undefined {
  try {
    // The build escapes all other characters, so this is the fastest way.
    return readFileSync(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether no other user can write to the folder: its files are executed. */
function isPrivate(folder: string, { getuid }: NodeJS.Process): boolean {
  if (getuid === undefined) return true;
  const { uid, mode } = statSync(folder);
  return uid === getuid() && (mode & 0o022) === 0;
}
