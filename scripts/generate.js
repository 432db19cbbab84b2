#!/usr/bin/env node
// Writes the generated files: `npm run generate`. Node 20 runs no TypeScript, so the scripts are bundled before they are run.
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const dir = path.resolve('node_modules/.cache/generate');
await rm(dir, { recursive: true, force: true });

// Help reads the contract's fields, and the pages hold what help says: the fields come first, and the pages are bundled with them.
for (const name of ['write-contract-fields', 'write-all']) {
  const bundle = await rolldown({
    input: { [name]: `scripts/generate/${name}.ts` },
    platform: 'node',
    external: ['libsql', 'jq-wasm', 'playwright-core'],
    logLevel: 'silent',
  });
  await bundle.write({ dir: path.join(dir, name), entryFileNames: '[name].js' });
  await bundle.close();
  await import(pathToFileURL(path.join(dir, name, `${name}.js`)).href);
}
