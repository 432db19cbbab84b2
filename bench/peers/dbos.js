/**
 * A process that executes workflows with DBOS, as bench/nodes.js says: `{ steps, count, concurrency }` executes that many and answers
 * with the elapsed milliseconds. A step returns the text that a step of a run of aops records. The workflows are started within the
 * process, without HTTP, as is usual with DBOS.
 */
import process from 'node:process';
import { DBOS } from '@dbos-inc/dbos-sdk';

const { url, connections, executor } = JSON.parse(process.argv[2]);
const ignore = () => undefined;
const logger = { info: ignore, debug: ignore, warn: ignore, error: (...parts) => process.stderr.write(`${parts.join(' ')}\n`) };

const workflow = DBOS.registerWorkflow(
  async ({ steps, message }) => {
    for (let number = 1; number <= steps; number += 1) await DBOS.runStep(async () => ({ message }), { name: `step:${number}` });
    return 'completed';
  },
  { name: 'bench' },
);
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: connections, executorID: executor, logger });
await DBOS.launch();

process.on('message', async ({ steps, count, concurrency }) => {
  let started = 0;
  const work = async () => {
    while (started < count) {
      started += 1;
      const handle = await DBOS.startWorkflow(workflow)({ steps, message: 'Done.' });
      if ((await handle.getResult()) !== 'completed') throw new Error('A workflow failed.');
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, work));
  process.send({ milliseconds: performance.now() - startedAt });
});
process.once('disconnect', () => process.exit());
process.send('ready');
