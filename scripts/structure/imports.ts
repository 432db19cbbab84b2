/** The import graph of src: what the files and folders import of each other. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** What each file imports, statically and dynamically, as paths below the folder. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** For each place, the places that it imports from, and how many imports of files that is. */
export type Graph = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The imports between the TypeScript files of a folder, without those of installed packages. */
export function importsIn(folder: string): Imports {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !name.split('/').includes('node_modules'))
    .sort();
  const allFiles = new Set(files);
  return new Map(
    files.map((file) => {
      const text = readFileSync(path.join(folder, file), 'utf8');
      const targets = [...text.matchAll(/(?:from|import\(|import)\s*'(\.{1,2}\/[^'\n]+)'/g)].map(([, specifier = '']) =>
        path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier)),
      );
      return [file, new Set(targets.filter((target) => allFiles.has(target)))];
    }),
  );
}

/** The imports between places. `placeOf` says where a file belongs; files without a place are left out. */
export function importsBetween(imports: Imports, placeOf: (file: string) => string | undefined): Graph {
  const graph = new Map<string, Map<string, number>>();
  for (const [file, targets] of imports) {
    const from = placeOf(file);
    if (from === undefined) continue;
    const counts = graph.get(from) ?? new Map<string, number>();
    graph.set(from, counts);
    for (const target of targets) {
      const to = placeOf(target);
      if (to !== undefined && to !== from) counts.set(to, (counts.get(to) ?? 0) + 1);
    }
  }
  return graph;
}
