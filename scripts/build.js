#!/usr/bin/env node
// Builds the bundle. Prints only errors, not the list of chunks.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';

const rolldown = path.join(path.dirname(createRequire(import.meta.url).resolve('rolldown/package.json')), 'bin', 'cli.mjs');
const { status } = spawnSync(process.execPath, [rolldown, '--config', 'rolldown.config.ts', '--logLevel', 'warn'], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
process.exitCode = status ?? 1;
