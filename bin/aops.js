#!/usr/bin/env node
import process from 'node:process';

const { main } = await import('../dist/main.js').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('main.js')) throw error;
  process.stderr.write('error: aops is not built yet\nhint: run `npm run build` in its folder\n');
  process.exit(1);
});
process.exitCode = await main(process);
