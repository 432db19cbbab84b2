/** Loads the chunks of the bundle with code that V8 has compiled before. Node's loader cannot do that, and searches for each of them. */
import path from 'node:path';
import { Script } from 'node:vm';

export interface Chunk {
  readonly source: string;
  /** What V8 compiled from it, as far as it is known. V8 does not use code of another version or source. */
  readonly code: Buffer | undefined;
}

export interface Chunks {
  /** The folder in which they believe to be. */
  readonly folder: string;
  /** The chunk that another one refers to; undefined for everything else, such as modules of Node. */
  find(name: string): Chunk | undefined;
  requireOther(id: string): unknown;
  /** Called with each chunk that is compiled. `Script.cachedDataRejected` tells whether its code was used. */
  onCompiled(name: string, script: Script, chunk: Chunk): void;
}

interface LoadedModule {
  exports: unknown;
}

type ChunkFunction = (exports: unknown, require: unknown, module: LoadedModule, filename: string, folder: string) => void;

/** The parameters of `ChunkFunction`, as in Node's loader. They are on the first line, so they must not count as columns of the chunk. */
const [head, tail] = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];

/** A function like `require`, for names of chunks such as `./core-BHVOz4Mb.js`, and everything that they need. */
export function chunkLoader({ folder, find, requireOther, onCompiled }: Chunks): (id: string) => unknown {
  const modules = new Map<string, LoadedModule>();
  const compile = (name: string, chunk: Chunk): ChunkFunction => {
    const { source, code } = chunk;
    const position = { filename: path.join(folder, name), columnOffset: -head.length };
    const script = new Script(`${head}${source}${tail}`, { ...position, ...(code && { cachedData: code }) });
    onCompiled(name, script, chunk);
    return script.runInThisContext() as ChunkFunction;
  };
  const load = (id: string): unknown => {
    const name = id.startsWith('./') ? id.slice('./'.length) : id;
    const loaded = modules.get(name);
    if (loaded !== undefined) return loaded.exports;
    const chunk = find(name);
    if (chunk === undefined) return requireOther(id);
    const module: LoadedModule = { exports: {} };
    modules.set(name, module);
    try {
      compile(name, chunk).call(module.exports, module.exports, load, module, path.join(folder, name), folder);
    } catch (error) {
      modules.delete(name);
      throw error;
    }
    return module.exports;
  };
  return load;
}
