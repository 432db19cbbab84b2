/** Loads the chunks of the bundle from the executable, with the code that V8 compiled from them when the executable was built. */
import { builtinModules, createRequire } from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';
import { codeOf, embedded, onLoaded } from './embedded.ts';

/** Where the source of a chunk is in `chunks`, whether it consists of ASCII characters, and where its compiled code is in `code`. */
export type ChunkEntry = readonly [offset: number, length: number, isAscii: boolean, codeOffset: number, codeLength: number];

interface LoadedModule {
  exports: unknown;
}

type ChunkFunction = (exports: unknown, require: unknown, module: LoadedModule, filename: string, folder: string) => void;

const builtin = new Set(builtinModules);

/**
 * A function like `require` for the chunks.
 * @param folder the folder in which chunks believe to be: that of the files that the executable unpacks
 * @param unpack called before a package of that folder is loaded, with its name
 */
export function chunkLoader(folder: string, unpack: (name: string) => void): (name: string) => unknown {
  const index = JSON.parse(embedded('index').toString()) as Record<string, ChunkEntry>;
  const content = embedded('chunks');
  const modules = new Map<string, LoadedModule>();
  const requireFile = createRequire(path.join(folder, 'main.js'));
  const load = (id: string): unknown => {
    const name = id.startsWith('./') ? id.slice(2) : id;
    const loaded = modules.get(name);
    if (loaded !== undefined) return loaded.exports;
    const entry = index[name];
    if (entry === undefined) {
      if (!id.startsWith('node:') && !builtin.has(id)) unpack(id);
      return requireFile(id);
    }
    const module: LoadedModule = { exports: {} };
    modules.set(name, module);
    compiled(name, content, entry, folder)(module.exports, load, module, path.join(folder, name), folder);
    return module.exports;
  };
  return load;
}

function compiled(name: string, content: Buffer, entry: ChunkEntry, folder: string): ChunkFunction {
  const [offset, length, isAscii, codeOffset, codeLength] = entry;
  const source = content.toString(isAscii ? 'latin1' : 'utf8', offset, offset + length);
  const cachedData = codeOf(name, codeOffset, codeLength);
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: path.join(folder, name),
    ...(cachedData && { cachedData }),
  });
  onLoaded(name, script);
  return script.runInThisContext() as ChunkFunction;
}
