import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'rolldown';

/**
 * What libraries would load at every start and never use here, and what takes its place. Each of these was measured
 * by `npm run bench`; a library that comes to use it after all fails loudly.
 */
const replacements = [
  // conf constructs ajv only when it is given a schema; aops gives none.
  { library: 'conf', id: /^(ajv\/dist\/2020\.js|ajv-formats)$/, code: 'export class Ajv2020 {}\nexport default () => {};' },
  // undici speaks HTTP/2 only where `allowH2` is set; this would load node:http2 and node:tls.
  { library: 'undici', id: /[\\/]client-h2\.js$/, code: "export default () => { throw new Error('HTTP/2 is not built in.'); };" },
  // Bodies are bytes or streams; this turns FormData into bytes, with the half of fetch.
  {
    library: 'undici',
    id: /[\\/]web\/fetch\/body\.js$/,
    code: "export const extractBody = () => { throw new Error('FormData is not built in.'); };",
  },
  // undici takes two small things of the HTTP module that it replaces.
  { library: 'undici', id: /^node:http$/, code: 'export class IncomingMessage {}\nexport const maxHeaderSize = 16_384;' },
  // commander starts programs for subcommands that are files of their own; aops has none.
  { library: 'commander', id: /^(node:)?child_process$/, code: 'export {};' },
];

const teamPage = 'src/service/page/team-page';

/** What renders templates in threads of its own: one file, which loads nothing else of the program. */
export const renderWorker = defineConfig({
  input: { 'render-worker': 'src/service/runtimes/script/rendering/worker.ts' },
  platform: 'node',
  output: { dir: 'dist', format: 'cjs', minify: true },
});

/** What reads the database in a thread of its own. */
export const databaseReader = defineConfig({
  input: { 'database-reader': 'src/service/store/database/reader/worker.ts' },
  platform: 'node',
  external: ['libsql'],
  output: { dir: 'dist', format: 'cjs', minify: true },
});

/**
 * One code-split bundle: the launcher loads `main`, which knows the version; every command loads `core`, those that
 * talk to the service `client`, and each its own few lines. Fewer files start faster. What only some need (service,
 * prompts, yaml, jq) stays in chunks of its own behind `import()`. Start-up is measured by `npm run bench`.
 */
const program = defineConfig({
  input: { main: 'src/main.ts' },
  platform: 'node',
  // Native or WebAssembly packages find their binaries relative to themselves; the browser library is large, and loaded by `browse` steps alone.
  external: ['libsql', 'jq-wasm', 'playwright-core'],
  plugins: [
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
      generateBundle() {
        // What browsers load is not bundled: it lies beside the code that serves it.
        for (const name of readdirSync(teamPage)) {
          if (!/\.(html|css|js|svg)$/.test(name)) continue;
          this.emitFile({ type: 'asset', fileName: `team-page/${name}`, source: readFileSync(`${teamPage}/${name}`) });
        }
        // Tools that look into the package read those as modules, which they are.
        this.emitFile({ type: 'asset', fileName: 'team-page/package.json', source: '{ "type": "module" }\n' });
        // The package itself is of modules, and the bundle is not.
        this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' });
      },
    },
  ],
  output: {
    dir: 'dist',
    // Node loads CommonJS several milliseconds faster than modules: no resolution in advance, no second loader.
    format: 'cjs',
    minify: true,
    cleanDir: true,
    chunkFileNames: '[name]-[hash].js',
    // A group takes what its modules import statically, too, except what one before it has.
    codeSplitting: {
      groups: [
        { name: 'version', test: /[\\/]src[\\/]base[\\/]version\.ts$/, priority: 3 },
        {
          name: 'core',
          test: /[\\/]src[\\/](cli[\\/](program[\\/]program|kit[\\/](command|flags|list|output)|names[\\/]resolve)|commands[\\/]index)\.ts$/,
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

// The first one empties the folder.
export default defineConfig([program, renderWorker, databaseReader]);
