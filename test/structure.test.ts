/** The import graph of src: no file or folder imports anything above it, and there are no cycles. Only some tests run the binary. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Graph, type Imports, importsBetween, importsIn } from '../scripts/structure/imports.ts';
import { structurePicture } from '../scripts/structure/structure.ts';

const root = path.join(import.meta.dirname, '..', 'src');
const testRoot = import.meta.dirname;
const imports = importsIn(root);
const graphOf = (placeOf: (file: string) => string | undefined): Graph => importsBetween(imports, placeOf);

/** A cycle of a graph, as the places on it; undefined if there are no cycles. */
function cycle(graph: Graph | Imports): string[] | undefined {
  const visitedFiles = new Set<string>();
  const visit = (place: string, ancestors: string[]): string[] | undefined => {
    if (ancestors.includes(place)) return [...ancestors.slice(ancestors.indexOf(place)), place];
    if (visitedFiles.has(place)) return undefined;
    for (const next of graph.get(place)?.keys() ?? []) {
      const cycle = visit(next, [...ancestors, place]);
      if (cycle) return cycle;
    }
    visitedFiles.add(place);
    return undefined;
  };
  for (const place of graph.keys()) {
    const cycle = visit(place, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** The first segment below a folder, such as `runs` for `commands/runs/get.ts` below `commands`. */
const placeIn = (folder: string) => (file: string) =>
  file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;

describe('the imports of src', () => {
  it('contain no cycle of files', () => {
    expect(cycle(imports)).toBeUndefined();
  });

  it.each([
    ['src', (file: string) => file.split('/')[0]],
    ...['cli', 'service', 'service/store', 'service/engine', 'commands'].map((folder) => [folder, placeIn(folder)] as const),
  ] as const)('contain no cycle between the parts of %s', (_, placeOf) => {
    expect(cycle(graphOf(placeOf))).toBeUndefined();
  });

  it('never lead from one command group to another', () => {
    // The list of all groups imports each of them.
    const group = (file: string) => (file === 'commands/index.ts' ? undefined : placeIn('commands')(file));
    const crossings = [...graphOf(group)].flatMap(([from, targets]) => [...targets.keys()].map((to) => `${from} -> ${to}`));
    expect(crossings).toEqual([]);
  });

  it('lead only downwards in the service: from api to http, engine, store, and database', () => {
    const layers = ['store/database', 'store', 'engine', 'http', 'api'];
    const layerOf = (file: string): string | undefined => layers.find((layer) => file.startsWith(`service/${layer}/`));
    const upward = [...graphOf(layerOf)].flatMap(([from, targets]) =>
      [...targets.keys()].filter((to) => layers.indexOf(to) > layers.indexOf(from)).map((to) => `${from} -> ${to}`),
    );
    expect(upward).toEqual([]);
  });

  it('do not include the whole engine inside the engine: functions name the parts that they use', () => {
    const users = [...imports.keys()].filter(
      (file) =>
        file.startsWith('service/engine/') && /import type \{[^}]*\bEngine\b[^}]*\}/.test(readFileSync(path.join(root, file), 'utf8')),
    );
    expect(users).toEqual(['service/engine/create-engine.ts', 'service/engine/engine-jobs.ts']);
  });

  it('are found by the functions that these tests use', () => {
    expect(imports.get('main.ts')).toContain('cli/program/program.ts');
    expect(cycle(new Map(Object.entries({ a: new Set(['b']), b: new Set(['a']) })))).toEqual(['a', 'b', 'a']);
  });
});

describe('SQLite', () => {
  const folder = 'service/store/database/sqlite/';
  const filesOutside = [...imports.keys()].filter((file) => !file.startsWith(folder));

  it('is imported only by the file that opens data directories', () => {
    const users = filesOutside.filter((file) => [...(imports.get(file) ?? [])].some((to) => to.startsWith(folder)));
    expect(users.sort()).toEqual(['service/store/data-directory.ts']);
  });

  it('is not known to the file that opens the other database, nor the other way round', () => {
    const postgres = 'service/store/database/postgres/';
    const users = [...imports].filter(
      ([file, targets]) => !file.startsWith(postgres) && [...targets].some((to) => to.startsWith(postgres)),
    );
    expect(users.map(([file]) => file)).toEqual(['service/store/shared-storage.ts']);
    const crossings = [...imports].filter(
      ([file, targets]) => file.startsWith(postgres) && [...targets].some((to) => to.startsWith(folder)),
    );
    expect(crossings).toEqual([]);
  });

  it('appears in no other query', () => {
    const own = /from 'libsql'|\bpragma \w|sqlite_master|\browid\b|new SqliteDialect/;
    const users = filesOutside.filter((file) => own.test(readFileSync(path.join(root, file), 'utf8')));
    // The index for searches of runs: its migration, its columns, and its queries.
    expect(users.sort()).toEqual([
      'service/store/database/migrations/0031-run-search.ts',
      'service/store/database/tables/runs.ts',
      'service/store/runs/run-search.ts',
    ]);
  });
});

describe('the binary', () => {
  // In parts, because this file does not use the binary.
  const parentPath = '..';
  const program = ['aops', 'js'].join('.');
  const namesBinary = (text: string): boolean => text.includes(program) || /\.\.\/(bin|dist)\//.test(text);

  /** The test files that run the bundle: they name the launcher or `dist`, or import a helper that does. */
  function binaryTests(testImports: Imports, textOf: (file: string) => string): string[] {
    const usesBinary = (file: string, ancestors: readonly string[] = []): boolean =>
      namesBinary(textOf(file)) ||
      [...(testImports.get(file) ?? [])].some((helper) => !ancestors.includes(helper) && usesBinary(helper, [...ancestors, file]));
    return [...testImports.keys()].filter((file) => file.endsWith('.test.ts') && usesBinary(file));
  }

  it('is used by tests in test/e2e and test/docs only, because all others test the source without a build', () => {
    const files = binaryTests(importsIn(testRoot), (file) => readFileSync(path.join(testRoot, file), 'utf8'));
    expect(files.filter((file) => !file.startsWith('e2e/') && !file.startsWith('docs/'))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['e2e/oauth-processes.test.ts', 'docs/examples.test.ts']));
  });

  it('is noticed in tests that name it, and in those that use a helper which starts it', () => {
    const texts: Record<string, string> = {
      'a.test.ts': `spawn('${parentPath}/bin/aops')`,
      'b.test.ts': `import('${parentPath}/${parentPath}/dist/main.js')`,
      'c.test.ts': '',
      'd.test.ts': "'../node_modules/other/dist/index.js'",
      'support/machine.ts': `'bin/${program}'`,
    };
    const graph = new Map(Object.keys(texts).map((file) => [file, new Set(file === 'c.test.ts' ? ['support/machine.ts'] : [])]));
    expect(binaryTests(graph, (file) => texts[file] as string)).toEqual(['a.test.ts', 'b.test.ts', 'c.test.ts']);
  });
});

describe('the picture of the structure', () => {
  const importing = (importsWith: string, to: string) => new Map([...imports, [importsWith, new Set([to])]]);

  it.each([
    ['a new folder', 'new-folder/a.ts', 'base/errors.ts', 'the folder new-folder'],
    ['a new import between folders', 'client/new.ts', 'watch/pace.ts', 'the import of watch from client'],
    ['a new folder of the service', 'service/new-folder/a.ts', 'service/errors.ts', 'the folder service/new-folder'],
    ['an upward import in the service', 'service/store/new.ts', 'service/http/server.ts', 'the import of http from store'],
  ])('fails on %s, so that it stays complete', (_, from, to, problem) => {
    expect(() => structurePicture(importing(from, to))).toThrow(problem);
  });

  it('shows the number of imports', () => {
    const count = [...imports]
      .flatMap(([file, targets]) => (file.startsWith('cli/') ? [...targets] : []))
      .filter((to) => to.startsWith('watch/')).length;
    expect(structurePicture(imports)).toMatch(new RegExp(`class="count"[^>]*>${count}<`));
  });
});
