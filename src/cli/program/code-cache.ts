/**
 * Remembers what V8 compiled, so that the next process does not compile it again: a fifth of the CPU time of a short command. Node
 * 22.1 and later can do this by themselves; for Node 20, this does the same for the files of the bundle.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { configPaths } from '../../config/paths.ts';

/** The files of a bundle contain a hash of their contents in their names, so a name stands for one content. */
const chunkName = /-[\w-]{8}\.js$/;
/** A folder with more files contains mostly those of earlier versions, and is emptied. */
const maxFiles = 1000;
/** Each file begins with a CRC-32 of the rest, in bytes. */
const checksumLength = 4;

/** What is used of Node's CommonJS loader. `_compile` is internal, but has not changed since Node 0.12. */
interface Loader {
  prototype: { _compile(this: NodeModule, content: string, filename: string): unknown };
  wrapper: readonly [string, string];
  /** Since Node 22.1. */
  enableCompileCache?(folder: string): unknown;
}

/**
 * Sets up V8 for a process that runs the bundle; call it before the bundle's chunks are loaded. Never throws: without a folder that
 * belongs to this user, everything is compiled as usual. As in Node, NODE_COMPILE_CACHE names another folder, and
 * NODE_DISABLE_COMPILE_CACHE=1 turns the cache off.
 * @param bundle the folder of the bundle
 */
export function useCodeCache(host: NodeJS.Process, bundle: string): void {
  const { env } = host;
  // undici's parser is WebAssembly. At exit, Node waits until V8 has optimised it in the background (60 ms), although the program
  // has already done its work; the baseline compiler is fast enough for JSON. V8 rejects code that was compiled with other flags, so
  // this comes first.
  setFlagsFromString('--liftoff-only');
  if (env.NODE_DISABLE_COMPILE_CACHE === '1') return;
  const loader = Module as unknown as Loader;
  const folder = env.NODE_COMPILE_CACHE || path.join(configPaths(env, env.HOME ?? os.homedir(), host.platform, host.cwd()).cache, 'code');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(folder, host)) return;
    if (loader.enableCompileCache !== undefined) loader.enableCompileCache(folder);
    else cacheChunks(loader, bundle, path.join(folder, cachedDataVersionTag().toString(16)), host);
  } catch {
    // The cache is only for speed; a disk can be full or read-only.
  }
}

/** Compiles the chunks below `bundle` with the code in `folder`, and adds missing code to it when the process ends. */
function cacheChunks({ prototype, wrapper }: Loader, bundle: string, folder: string, host: NodeJS.Process): void {
  const compile = prototype._compile;
  const newScripts = new Map<string, Script>();
  prototype._compile = function (content, filename) {
    const name = path.basename(filename);
    if (path.dirname(filename) !== bundle || !chunkName.test(name)) return compile.call(this, content, filename);
    const cachedData = readCode(path.join(folder, name));
    const script = new Script(`${wrapper[0]}${content}${wrapper[1]}`, {
      filename,
      columnOffset: -wrapper[0].length,
      ...(cachedData && { cachedData }),
    });
    if (cachedData === undefined || script.cachedDataRejected) newScripts.set(name, script);
    const run = script.runInThisContext() as (...values: unknown[]) => unknown;
    return run.call(this.exports, this.exports, Module.createRequire(filename), this, filename, bundle);
  };
  // At the end, because only functions that were called have been compiled.
  host.on('exit', () => {
    if (newScripts.size > 0) writeCode(folder, newScripts, host.pid);
  });
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
