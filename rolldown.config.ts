import { defineConfig } from 'rolldown';

/**
 * One code-split bundle: the launcher loads `main`, and each command pulls in
 * only the chunks it needs. Start-up is measured by `npm run bench`.
 */
export default defineConfig({
  input: { main: 'src/main.ts' },
  platform: 'node',
  // Native or WebAssembly packages find their binaries relative to themselves.
  external: ['libsql', 'jq-wasm'],
  plugins: [
    {
      // conf constructs ajv only when it is given a schema; aops gives none, and
      // the validator would be a quarter of the start-up time of every command.
      name: 'conf-without-ajv',
      resolveId(id, importer) {
        if (!importer?.includes('/conf/')) return null;
        return id === 'ajv/dist/2020.js' || id === 'ajv-formats' ? '\0no-ajv' : null;
      },
      load: (id) => (id === '\0no-ajv' ? 'export class Ajv2020 {}\nexport default () => {};' : null),
    },
  ],
  output: {
    dir: 'dist',
    format: 'esm',
    minify: true,
    cleanDir: true,
    chunkFileNames: '[name]-[hash].js',
  },
});
