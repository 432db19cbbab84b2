#!/usr/bin/env node
// Writes the generated files: `npm run generate`. Node 20 cannot run TypeScript, so the scripts are bundled first.
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const dir = path.resolve('node_modules/.cache/generate');
await rm(dir, { recursive: true, force: true });

// The pages contain the text of help, and help reads the contract's fields. The fields are therefore written first.
for (const name of ['write-contract-fields', 'write-all']) {
  const bundle = await rolldown({
    input: { [name]: `scripts/generate/${name}.ts` },
    platform: 'node',
    external: ['libsql', 'jq-wasm', 'playwright-core'],
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    logLevel: 'silent',
  });
  await bundle.write({ dir: path.join(dir, name), entryFileNames: '[name].js' });
  await bundle.close();
  await import(pathToFileURL(path.join(dir, name, `${name}.js`)).href);
}
