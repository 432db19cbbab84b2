/** The import graph of src: what lies below knows nothing of what lies above, and nothing is imported in a circle. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..', 'src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.ts'));
const known = new Set(files);

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Imports by file, static and dynamic; paths below src. */
const imports: Graph = new Map(
  files.map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const found = [...text.matchAll(/(?:from|import\(|import)\s*'(\.{1,2}\/[^'\n]+)'/g)].map(([, specifier]) =>
      path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier as string)),
    );
    return [file, new Set(found.filter((name) => known.has(name)))];
  }),
);

/** The same for places: what `placeOf` maps a file to. Files that it maps to undefined are left out. */
function between(placeOf: (file: string) => string | undefined): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const from = placeOf(file);
    if (from === undefined) continue;
    const reached = graph.get(from) ?? new Set();
    graph.set(from, reached);
    for (const target of targets) {
      const to = placeOf(target);
      if (to !== undefined && to !== from) reached.add(to);
    }
  }
  return graph;
}

/** One circle of a graph, as the places on it; undefined when there is none. */
function circle(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const visit = (place: string, above: string[]): string[] | undefined => {
    if (above.includes(place)) return [...above.slice(above.indexOf(place)), place];
    if (done.has(place)) return undefined;
    for (const next of graph.get(place) ?? []) {
      const found = visit(next, [...above, place]);
      if (found) return found;
    }
    done.add(place);
    return undefined;
  };
  for (const place of graph.keys()) {
    const found = visit(place, []);
    if (found) return found;
  }
  return undefined;
}

/** The first segment below a folder, such as `runs` for `commands/runs/get.ts` below `commands`. */
const below = (folder: string) => (file: string) =>
  file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;

describe('imports', () => {
  it('of files form no circle', () => {
    expect(circle(imports)).toBeUndefined();
  });

  it.each([
    ['src', (file: string) => file.split('/')[0]],
    ...['cli', 'service', 'service/store', 'service/engine', 'commands'].map((folder) => [folder, below(folder)] as const),
  ] as const)('between the parts of %s form no circle', (_, placeOf) => {
    expect(circle(between(placeOf))).toBeUndefined();
  });

  it('of a command group lead to no other group', () => {
    // The list of all groups is what puts them together.
    const group = (file: string) => (file === 'commands/index.ts' ? undefined : below('commands')(file));
    const crossing = [...between(group)].flatMap(([from, targets]) => [...targets].map((to) => `${from} -> ${to}`));
    expect(crossing).toEqual([]);
  });

  it('lead downwards only, from api to http, engine, store and database', () => {
    const layers = ['store/database', 'store', 'engine', 'http', 'api'];
    const layerOf = (file: string): string | undefined => layers.find((layer) => file.startsWith(`service/${layer}/`));
    const upward = [...between(layerOf)].flatMap(([from, targets]) =>
      [...targets].filter((to) => layers.indexOf(to) > layers.indexOf(from)).map((to) => `${from} -> ${to}`),
    );
    expect(upward).toEqual([]);
  });

  it('give the whole engine to nobody inside it: functions name the parts that they use', () => {
    const users = files.filter(
      (file) =>
        file.startsWith('service/engine/') && /import type \{[^}]*\bEngine\b[^}]*\}/.test(readFileSync(path.join(root, file), 'utf8')),
    );
    expect(users.sort()).toEqual(['service/engine/create-engine.ts', 'service/engine/engine-jobs.ts']);
  });
});
