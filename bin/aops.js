#!/usr/bin/env node
// CommonJS, like the bundle, because Node starts it faster.
const fs = require('node:fs');
const path = require('node:path');
const process = require('node:process');

function load() {
  try {
    return require('../dist/main.js');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND' || !error.message.includes('dist/main.js')) throw error;
    process.stderr.write('error: aops is not built yet\nhint: run `npm run build` in its folder\n');
    process.exit(1);
  }
}

load()
  .main(
    process,
    () => require('../dist/code-cache.js').useCodeCache(process, path.join(__dirname, '..', 'dist')),
    (bytes) => fs.writeSync(1, bytes),
  )
  .then((code) => {
    process.exitCode = code;
  });
