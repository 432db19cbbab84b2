#!/usr/bin/env node
/**
 * Brings src/service/runtimes/acp/registry.json up to date: `node scripts/update-acp-registry.js [FILE]`, with the published registry or
 * a copy of it in a file. Agents that are new in the published registry are only listed, because what they need is not part of it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { merge } from './acp-registry/merge.js';

const file = path.resolve(import.meta.dirname, '../src/service/runtimes/acp/registry.json');
const snapshot = JSON.parse(await readFile(file, 'utf8'));

async function fetchRegistry(copy) {
  if (copy !== undefined) return JSON.parse(await readFile(copy, 'utf8'));
  const response = await fetch(snapshot.source);
  if (!response.ok) throw new Error(`${snapshot.source} answered with ${response.status}.`);
  return response.json();
}

const result = merge(snapshot, await fetchRegistry(process.argv[2]), new Date().toISOString().slice(0, 10));
await writeFile(file, `${JSON.stringify(result.snapshot, null, 2)}\n`);
const lines = [
  ['Changed; verify them again, and adapt test/agents/package.json', result.changed],
  ['No longer published', result.missing],
  ['Published, but not in the snapshot', result.unlisted],
];
for (const [title, ids] of lines) console.log(`${title}: ${ids.length === 0 ? '-' : ids.join(', ')}`);
console.log('Format the file with: npx biome check --write src/service/runtimes/acp/registry.json');
