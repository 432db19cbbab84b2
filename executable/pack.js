/** Puts the files of the executable together: the chunks of the bundle, and groups of files that it unpacks when they are needed. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

/** V8 copies code that does not begin at such a multiple. */
const alignment = 8;

/**
 * Writes `chunks`, `code` and `index` into `folder`.
 * @param files the paths of the chunks by name
 * @param codeFolder the compiled code by the name of the chunk
 */
export function packChunks(files, codeFolder, folder) {
  const sources = new Parts();
  const code = new Parts();
  const index = [...files].map(([name, file]) => {
    const source = readFileSync(file);
    const codeFile = path.join(codeFolder, name);
    const isAscii = source.every((byte) => byte < 0x80);
    const stored = existsSync(codeFile) ? code.add(readFileSync(codeFile)) : [0, 0];
    return [name, [...sources.add(source), isAscii, ...stored]];
  });
  writeFileSync(path.join(folder, 'chunks'), sources.content());
  writeFileSync(path.join(folder, 'code'), code.content());
  writeFileSync(path.join(folder, 'index'), JSON.stringify(Object.fromEntries(index)));
}

/** Writes `NAME.json` and `NAME.gz` into `folder`. Returns the hash of all contents. */
export function packGroup(name, files, folder) {
  const parts = new Parts();
  const index = [...files].map(([target, file]) => {
    const content = readFileSync(file);
    const [offset, length] = parts.add(content);
    return [target, { offset, length, sha256: createHash('sha256').update(content).digest('hex') }];
  });
  const list = JSON.stringify(Object.fromEntries(index));
  writeFileSync(path.join(folder, `${name}.json`), list);
  writeFileSync(path.join(folder, `${name}.gz`), gzipSync(parts.content(), { level: 9 }));
  return createHash('sha256').update(list).digest('hex');
}

/** The files below a folder, as pairs of a path with slashes below `target` and the path on this machine. */
export function filesBelow(folder, target, wanted = () => true) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => [path.posix.join(target, path.relative(folder, file).split(path.sep).join('/')), file])
    .filter(([name]) => wanted(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

class Parts {
  #length = 0;
  #parts = [];

  /** Returns the offset and the length. */
  add(content) {
    const offset = this.#length;
    const padding = (alignment - (content.length % alignment)) % alignment;
    this.#parts.push(content, Buffer.alloc(padding));
    this.#length += content.length + padding;
    return [offset, content.length];
  }

  content() {
    return Buffer.concat(this.#parts);
  }
}
