/**
 * Servers to compare the service with, each in a process of its own that `compare` (comparison.js) forks. The first message says what
 * to do:
 *
 * - `{ recorded }`: answers every request with a recorded response, after it has read the body;
 * - `{ file, headers }`: does what the service does for a request with as few statements as possible on a copy of its
 *   database (floor-operations.js), without everything else: authentication, limits, validation, events, logs.
 */
import http from 'node:http';
import process from 'node:process';
import { FloorDatabase } from './floor-database.js';
import { createAgent, getRun, listRuns, startRun } from './floor-operations.js';

function serveRecorded({ status, headers, body }) {
  return http.createServer((request, response) => {
    response.sendDate = false;
    request.on('end', () => {
      response.writeHead(status, headers);
      response.end(body);
    });
    request.resume();
  });
}

/** Answers requests like the service, with these headers. */
async function serveDatabase({ file, headers }) {
  const database = await FloorDatabase.open(file);
  const identity = {
    team: database.first('select id from teams')().id,
    credential: database.first('select id from credentials')().id,
  };
  const run = getRun(database, identity);
  const list = listRuns(database, identity);
  const agents = createAgent(database, identity);
  const runs = startRun(database, identity);
  const answerTo = (url, key, body) => {
    if (url === '/completed') return String(runs.completed());
    if (key !== undefined) return url.endsWith('/agents') ? agents(url, key, body) : runs.start(url, key, body);
    return url.startsWith('/v2/runs/') ? run(url) : list.answer(url);
  };
  process.on('message', ({ pages }) => process.send({ cpu: cpuOf(() => list.read(pages)) }));
  return http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', async () => {
      const body = await answerTo(request.url, request.headers['idempotency-key'], Buffer.concat(chunks).toString());
      response.sendDate = false;
      response.writeHead(200, { ...headers, 'Content-Length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
}

/** Milliseconds of CPU time of this process for some work. */
function cpuOf(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

process.once('disconnect', () => process.exit());
process.once('message', async (task) => {
  const server = 'recorded' in task ? serveRecorded(task.recorded) : await serveDatabase(task);
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
});
