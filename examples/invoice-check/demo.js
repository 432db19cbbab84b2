#!/usr/bin/env node
// The main use from start to finish: a local service, an agent, a run that is watched to its end, and its files.
// On a terminal you answer the agent's questions; elsewhere answers.yaml does. Nothing is left behind.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { demonstrate, neighbour, someoneIsHere } from '../support.js';

const file = (name) => neighbour(import.meta.url, name);

await demonstrate(async ({ aops, home }) => {
  const output = path.join(home, 'out');
  const answers = someoneIsHere ? ['--watch'] : ['--answers', file('answers.yaml')];
  const message = 'The invoices of the day, please';
  const code =
    (await aops('local', 'up', '--ephemeral', '--exec', 'host')) ||
    (await aops('agents', 'create', 'invoice-check', '--procedure', file('procedure.yaml'))) ||
    (await aops(
      ...['runs', 'start', '--agent', 'invoice-check', '--message', message],
      ...['--upload', file('invoices.csv'), ...answers, '--pull', output],
    ));
  if (code !== 0) return code;
  console.error('\nreport.md, as the run wrote it:\n');
  console.log(await readFile(path.join(output, 'report.md'), 'utf8'));
  return 0;
});
