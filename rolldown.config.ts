import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { defineConfig, type Plugin, rolldown } from 'rolldown';
import { libraryFolder, licensesOf } from './scripts/licenses/licenses.ts';

/** Native and WebAssembly packages find their binaries relative to themselves; the browser library is large, and only `browse` steps load it. */
const packages = ['libsql', 'jq-wasm', 'playwright-core'];
/** The other form (UMD) contains calls of `require` that no bundler can resolve. */
const aliases = { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } };

/**
 * Modules that libraries would load at every start but that aops never uses, and their replacements. Each was measured
 * with `npm run bench`. If a library uses one after all, it fails loudly.
 */
const replacements = [
  // conf constructs ajv only if it gets a schema, which aops does not pass.
  { library: 'conf', id: /^(ajv\/dist\/2020\.js|ajv-formats)$/, code: 'export class Ajv2020 {}\nexport default () => {};' },
  // undici uses HTTP/2 only if `allowH2` is set; this would load node:http2 and node:tls.
  { library: 'undici', id: /[\\/]client-h2\.js$/, code: "export default () => { throw new Error('HTTP/2 is not built in.'); };" },
  // Bodies are bytes or streams; this converts FormData to bytes, and needs half of fetch.
  {
    library: 'undici',
    id: /[\\/]web\/fetch\/body\.js$/,
    code: "export const extractBody = () => { throw new Error('FormData is not built in.'); };",
  },
  // undici uses two small parts of the HTTP module that it replaces.
  { library: 'undici', id: /^node:http$/, code: 'export class IncomingMessage {}\nexport const maxHeaderSize = 16_384;' },
  // undici only calls it; loading it takes 2 ms.
  {
    library: 'undici',
    id: /^node:assert$/,
    code: 'module.exports = (value, message) => { if (!value) throw new Error(message || "An assertion of undici failed."); };',
  },
  // undici needs the time since the start of the process, which is also a global.
  { library: 'undici', id: /^node:perf_hooks$/, code: 'module.exports = { performance: { now: () => performance.now() } };' },
  // pg loads it only if NODE_PG_FORCE_NATIVE is set.
  {
    library: 'pg',
    id: /^pg-native$/,
    code: "module.exports = class { constructor() { throw new Error('pg-native is not built in.'); } };",
  },
  // commander starts programs for subcommands in separate files; aops has none.
  { library: 'commander', id: /^(node:)?child_process$/, code: 'export {};' },
];

const loader = /(?<=: )\(\) => import\('(?<file>\.\/[^']+)'\)/g;
const summary = /^ {2}summary:\s+(?<text>'(?:[^'\\]|\\.)*'|"[^"]*")/m;

/** The source of a group, with the summary of each command next to the function that loads it. */
function withSummaries(source: string, folder: string): string {
  return source.replace(loader, (load, file: string) => {
    const text = summary.exec(readFileSync(path.join(folder, file), 'utf8'))?.groups?.text;
    if (text === undefined) throw new Error(`${path.join(folder, file)} does not begin with a plain summary.`);
    return `Object.assign(${load}, { summary: ${text} })`;
  });
}

/**
 * The source of command-words.ts in the bundle: a function that returns the words of all commands. To find them, the commands are
 * bundled on their own, and loaded.
 */
async function wordsOfCommands(module: string): Promise<string> {
  const entry = '\0words-of-commands';
  const bundle = await rolldown({
    input: { words: entry },
    platform: 'node',
    external: packages,
    resolve: aliases,
    logLevel: 'silent',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) =>
          id === entry
            ? `import { commandTree } from ${JSON.stringify(path.resolve('src/commands/index.ts'))};
               import { commandWords } from ${JSON.stringify(module)};
               export const words = () => commandWords(() => commandTree);`
            : null,
      },
    ],
  });
  const dir = path.resolve('node_modules/.cache/words-of-commands');
  await bundle.write({ dir, format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs', cleanDir: true });
  await bundle.close();
  const { words } = createRequire(import.meta.url)(path.join(dir, 'words.cjs')) as { words: () => Promise<unknown> };
  return `const words = ${JSON.stringify(JSON.stringify(await words()))};\nexport const commandWords = async () => JSON.parse(words);\n`;
}

/**
 * Code with escapes for all other characters than those of ASCII. They appear in strings, templates, and regular expressions. With a
 * single one, V8 needs two bytes for each character of the file, and the file cannot be read as ASCII (code-cache.ts).
 */
function withoutWideCharacters(code: string): string {
  const escaped = /(?<!\\)(?:\\\\)*\\[^\0-\x7f].{0,20}/.exec(code)?.[0];
  if (escaped !== undefined) throw new Error(`A backslash in front of a character outside of ASCII would change its meaning: ${escaped}`);
  return code.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const bundledLibraries = new Set<string>();

/** Writes the licences of all libraries that have been bundled so far next to the bundle. */
const licenses: Plugin = {
  name: 'licenses',
  writeBundle({ dir }, bundle) {
    for (const part of Object.values(bundle)) {
      for (const module of part.type === 'chunk' ? part.moduleIds : []) {
        const folder = libraryFolder(module);
        if (folder !== undefined) bundledLibraries.add(folder);
      }
    }
    writeFileSync(path.join(dir as string, 'THIRD-PARTY-LICENSES.txt'), licensesOf(bundledLibraries));
  },
};

const teamPage = 'src/service/page/team-page';

/** What the launcher loads before anything else, for all commands but `--version`. */
const codeCache = defineConfig({
  input: { 'code-cache': 'src/cli/program/code-cache.ts' },
  platform: 'node',
  plugins: [licenses],
  output: { dir: 'dist', format: 'cjs', minify: true },
});

/** The worker threads that render templates: one file, which loads nothing else of the program. */
export const renderWorker = defineConfig({
  input: { 'render-worker': 'src/service/runtimes/script/rendering/worker.ts' },
  platform: 'node',
  plugins: [licenses],
  output: { dir: 'dist', format: 'cjs', minify: true },
});

/** The worker thread that reads the database. */
export const databaseReader = defineConfig({
  input: { 'database-reader': 'src/service/store/database/sqlite/reader/worker.ts' },
  platform: 'node',
  external: ['libsql'],
  plugins: [licenses],
  output: { dir: 'dist', format: 'cjs', minify: true },
});

/** What passes connections out of a sandbox: one file, because nothing else of the program is visible there. */
export const containedBridge = defineConfig({
  input: { 'contained-bridge': 'src/service/contained/network/bridge.ts' },
  platform: 'node',
  plugins: [licenses],
  output: { dir: 'dist', format: 'cjs', minify: true },
});

/**
 * One code-split bundle. The launcher loads `main`, which contains the version; every command loads `core`, its own
 * few lines, and `client` if it calls the service. Fewer files start faster. Parts that only some commands need (service,
 * prompts, yaml, jq) stay in separate chunks behind `import()`. `npm run bench` measures the start-up.
 */
const program = defineConfig({
  input: { main: 'src/main.ts' },
  platform: 'node',
  external: packages,
  resolve: aliases,
  plugins: [
    licenses,
    {
      name: 'summaries',
      transform: (source, id) => (/[\\/]src[\\/]commands[\\/].+[\\/]index\.ts$/.test(id) ? withSummaries(source, path.dirname(id)) : null),
    },
    {
      name: 'words of commands',
      load: (id) => (/[\\/]completion[\\/]command-words\.ts$/.test(id) ? wordsOfCommands(id) : null),
    },
    {
      name: 'replacements',
      resolveId(id, importer) {
        const folders = importer?.split(/[\\/]/) ?? [];
        const index = replacements.findIndex((one) => one.id.test(id) && folders.includes(one.library));
        return index < 0 ? null : `\0replacement-${index}`;
      },
      load(id) {
        const index = /^\0replacement-(\d+)$/.exec(id)?.[1];
        return index === undefined ? null : (replacements[Number(index)]?.code ?? null);
      },
      generateBundle(_, bundle) {
        // Files for browsers are not bundled: they are next to the code that serves them.
        for (const name of readdirSync(teamPage)) {
          if (!/\.(html|css|js|svg|webmanifest)$/.test(name)) continue;
          this.emitFile({ type: 'asset', fileName: `team-page/${name}`, source: readFileSync(`${teamPage}/${name}`) });
        }
        for (const part of Object.values(bundle)) if (part.type === 'chunk') part.code = withoutWideCharacters(part.code);
        // Tools that inspect the package read these files as modules, which is correct.
        this.emitFile({ type: 'asset', fileName: 'team-page/package.json', source: '{ "type": "module" }\n' });
        // The package consists of modules, but the bundle does not.
        this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' });
      },
    },
  ],
  output: {
    dir: 'dist',
    // Node loads CommonJS several milliseconds faster than modules, because it needs no resolution in advance and no second loader.
    format: 'cjs',
    // The compiled code that a process stores for the next one cannot contain `import()`.
    dynamicImportInCjs: false,
    minify: true,
    cleanDir: true,
    chunkFileNames: '[name]-[hash].js',
    // A group also contains the static imports of its modules, except those in a previous group.
    codeSplitting: {
      groups: [
        { name: 'version', test: /[\\/]src[\\/]base[\\/]version\.ts$/, priority: 3 },
        {
          name: 'core',
          test: /[\\/]src[\\/](cli[\\/](program[\\/]program|kit[\\/](command|flags|list|output)|names[\\/]resolve)|commands[\\/]index|base[\\/]short-name)\.ts$/,
          priority: 2,
        },
        {
          name: 'client',
          test: /[\\/]src[\\/](cli[\\/]connect[\\/]connection|client[\\/](index|paging|access[\\/]credential))\.ts$/,
          priority: 1,
        },
      ],
    },
  },
});

// The first build empties the folder.
export default defineConfig([program, codeCache, renderWorker, databaseReader, containedBridge]);
