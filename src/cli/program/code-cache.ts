/**
 * Remembers what V8 compiled, so that the next process does not compile it again: a fifth of the CPU time of a short command. Node 22.1
 * and later can do this by themselves, but take an eighth longer, because they still search for each file.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
import type { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { configPaths } from '../../config/paths.ts';
import { chunkLoader } from './chunk-loader.ts';
import { compileWebAssemblyOnce } from './web-assembly.ts';

/** The names of chunks contain a hash of their contents, so a name stands for one content. */
const chunkName = /-[\w-]{8}\.js$/;
/** A folder with more files contains mostly those of earlier versions, and is emptied. */
const maxFiles = 1000;
/** Each file begins with a CRC-32 of the rest, in bytes. */
const checksumLength = 4;

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
  const folder = env.NODE_COMPILE_CACHE || path.join(configPaths(env, env.HOME ?? os.homedir(), host.platform, host.cwd()).cache, 'code');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(folder, host)) return;
    cacheChunks(loader, bundle, path.join(folder, cachedDataVersionTag().toString(16)), host);
  } catch {
    // The cache is only for speed; a disk can be full or read-only.
  }
}

/** Compiles the chunks below `bundle` with the code in `folder`, and adds missing code to it when the process ends. */
function cacheChunks(loader: Loader, bundle: string, folder: string, host: NodeJS.Process): void {
  const { _load: loadFile, _cache: loadedFiles } = loader;
  const newScripts = new Map<string, Script>();
  const requireFile = Module.createRequire(path.join(bundle, 'main.js'));
  const load = chunkLoader({
    folder: bundle,
    find(name) {
      const file = path.join(bundle, name);
      const source = chunkName.test(name) && loadedFiles[file] === undefined ? readChunk(file) : undefined;
      return source === undefined ? undefined : { source, code: readCode(path.join(folder, name)) };
    },
    // Node itself reports a chunk that is missing.
    requireOther: (id) => requireFile(id.startsWith('./') ? path.join(bundle, id) : id),
    onCompiled(name, script, { code }) {
      if (code === undefined || script.cachedDataRejected) newScripts.set(name, script);
    },
  });
  loader._load = (id, parent, isMain) =>
    id.startsWith('./') && parent !== undefined && path.dirname(parent.filename) === bundle && chunkName.test(id)
      ? load(id)
      : loadFile(id, parent, isMain);
  // At the end, because only functions that were called have been compiled.
  host.on('exit', () => {
    if (newScripts.size > 0) writeCode(folder, newScripts, host.pid);
  });
}

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

/** The code in a file, unless it is damaged: V8 does not verify it, and would crash. */
function readCode(file: string): Buffer | undefined {
  try {
    const content = readFileSync(file);
    const code = content.subarray(checksumLength);
    return content.readUInt32LE() === crc32(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

function writeCode(folder: string, scripts: ReadonlyMap<string, Script>, pid: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const names = readdirSync(folder);
    if (names.length + scripts.size > maxFiles) for (const name of names) rmSync(path.join(folder, name), { force: true });
    for (const [name, script] of scripts) {
      const file = path.join(folder, name);
      // Another process must not read half a file.
      const code = script.createCachedData();
      const checksum = Buffer.alloc(checksumLength);
      checksum.writeUInt32LE(crc32(code));
      writeFileSync(`${file}.${pid}`, Buffer.concat([checksum, code]), { mode: 0o600 });
      renameSync(`${file}.${pid}`, file);
    }
  } catch {
    // As above.
  }
}

/** Whether no other user can write to the folder: its files are executed. */
function isPrivate(folder: string, { getuid }: NodeJS.Process): boolean {
  if (getuid === undefined) return true;
  const { uid, mode } = statSync(folder);
  return uid === getuid() && (mode & 0o022) === 0;
}
