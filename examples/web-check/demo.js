#!/usr/bin/env node
// Browsing from start to finish: a small shop, a local service, an agent that checks the shop, and a film strip of what it did.
// Needs an installed Chromium, Chrome, or Edge. Only the film strip is left behind, in the folder that you name or in the current one.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import process from 'node:process';
import { demonstrate, neighbour } from '../support.js';

const types = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.csv': 'text/csv' };
const names = ['index.html', 'order.html', 'thanks.html', 'style.css', 'prices.csv'];
const pages = new Map(await Promise.all(names.map(async (name) => [`/${name}`, await readFile(new URL(`site/${name}`, import.meta.url))])));

const shop = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://shop');
  const name = pathname === '/' ? '/index.html' : pathname;
  const page = pages.get(name);
  if (page === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-type': types[path.extname(name)] }).end(page);
});
await new Promise((resolve) => shop.listen(0, '127.0.0.1', resolve));

const strip = path.join(process.argv[2] ?? '.', 'web-check.html');
try {
  await demonstrate(async ({ aops, home }) => {
    const address = `http://127.0.0.1:${shop.address().port}/`;
    const output = path.join(home, 'out');
    const code =
      (await aops('local', 'up', '--ephemeral')) ||
      (await aops('agents', 'create', 'web-check', '--procedure', neighbour(import.meta.url, 'procedure.yaml'))) ||
      (await aops('runs', 'start', '--agent', 'web-check', '--message', address, '--watch', '--pull', output));
    // Also for a run that failed, because the film strip is most useful then.
    const exported = await aops('runs', 'screenshots', '@latest', '--html', strip, '--force');
    if (code !== 0) return code;
    console.error('\nreport.md, as the run wrote it:\n');
    console.log(await readFile(path.join(output, 'report.md'), 'utf8'));
    return exported;
  });
} finally {
  shop.closeAllConnections();
  shop.close();
}
