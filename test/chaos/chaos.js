#!/usr/bin/env node
// Runs the chaos suite: `npm run chaos`. Node 20 cannot run TypeScript, so the suite is bundled first.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const folder = await mkdtemp(path.join(tmpdir(), 'aops-chaos-program-'));
let suite;
try {
  const bundle = await rolldown({ input: { chaos: 'test/chaos/main.ts' }, platform: 'node', external: ['pg-native'], logLevel: 'silent' });
  await bundle.write({ dir: folder, entryFileNames: '[name].mjs' });
  await bundle.close();
  suite = await import(pathToFileURL(path.join(folder, 'chaos.mjs')).href);
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = await suite.main(process.argv.slice(2));
