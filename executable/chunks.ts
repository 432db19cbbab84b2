/** Loads the chunks of the bundle from the executable, with the code that V8 compiled from them when the executable was built. */
import { builtinModules, createRequire } from 'node:module';
import path from 'node:path';
import { chunkLoader } from '../src/cli/program/chunk-loader.ts';
import { codeOf, embedded, onLoaded } from './embedded.ts';

/** Where the source of a chunk is in `chunks`, whether it consists of ASCII characters, and where its compiled code is in `code`. */
export type ChunkEntry = readonly [offset: number, length: number, isAscii: boolean, codeOffset: number, codeLength: number];

const builtin = new Set(builtinModules);

/**
 * A function like `require` for the chunks.
 * @param folder the folder in which chunks believe to be: that of the files that the executable unpacks
 * @param unpack called before a package of that folder is loaded, with its name
 */
export function embeddedLoader(folder: string, unpack: (name: string) => void): (name: string) => unknown {
  const index = JSON.parse(embedded('index').toString()) as Record<string, ChunkEntry>;
  const content = embedded('chunks');
  const requireFile = createRequire(path.join(folder, 'main.js'));
  return chunkLoader({
    folder,
    find(name) {
      const entry = index[name];
      if (entry === undefined) return undefined;
      const [offset, length, isAscii, codeOffset, codeLength] = entry;
      const source = content.toString(isAscii ? 'latin1' : 'utf8', offset, offset + length);
      return { source, code: codeOf(name, codeOffset, codeLength) };
    },
    requireOther(id) {
      if (!id.startsWith('node:') && !builtin.has(id)) unpack(id);
      return requireFile(id);
    },
    onCompiled: onLoaded,
  });
}
