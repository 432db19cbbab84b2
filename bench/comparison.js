/**
 * Compares the service with servers that do less (floor.js), alternating in one run: one that returns recorded responses, and one
 * that executes the same statements, or a run's indispensable ones, with the same durability.
 */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { LoadConnections } from './load.js';
import { cleanEnvironment, median, processCpu } from './support.js';

const floorProgram = fileURLToPath(new URL('./floor.js', import.meta.url));

/** The request of a case as bytes; each request of a keyed change, or to a pathname that is a function, differs. */
export function requestBytes({ method, pathname, body }, token) {
  const headTo = (to) => `${method} ${to} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
  if (typeof pathname === 'function') return () => `${headTo(pathname())}\r\n`;
  const head = headTo(pathname);
  if (body === undefined) {
    const bytes = Buffer.from(`${head}\r\n`);
    return () => bytes;
  }
  return () => {
    const text = body();
    return `${head}Content-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  };
}

/** The service's response to a request, for other servers to return, or to use its headers. */
export async function recordResponse(service, make) {
  const connections = await LoadConnections.open(service.url, 1);
  const text = (await connections.once(make())).toString('utf8');
  connections.close();
  const [head, body] = [text.slice(0, text.indexOf('\r\n\r\n')), text.slice(text.indexOf('\r\n\r\n') + 4)];
  const [first, ...lines] = head.split('\r\n');
  const excludedNames = new Set(['connection', 'keep-alive']);
  const headers = lines.map((line) => line.split(/: ?(.*)/s)).filter(([name]) => !excludedNames.has(name.toLowerCase()));
  const status = Number(first.split(' ')[1]);
  if (status >= 300) throw new Error(`The service answered ${status}: ${body}`);
  return { status, headers: Object.fromEntries(headers.map(([name, value]) => [name, value])), body };
}

/** Starts a server of floor.js for a task. Returns it as a target, with `ask` to send it messages, and `stop`. */
export async function startFloor(task) {
  const child = fork(floorProgram, [], { env: cleanEnvironment(tmpdir()), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ask = async (message) => {
    child.send(message);
    const [answer] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`A server of the benchmark ended with ${code}.`))),
    ]);
    return answer;
  };
  const { port } = await ask(task);
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, ask, stop: () => void child.kill() };
}

/** Sends requests for some time. Other work with the same parameters returns the number of what it has finished. */
const inTime = (connections, make, { milliseconds }) => connections.run(make, { milliseconds });

/** Elapsed milliseconds for a request, and CPU milliseconds of the process that answers. */
export async function load(target, make, options, work = inTime) {
  const loadConnections = await LoadConnections.open(target.url, options.connections);
  const cpuBefore = processCpu(target.pid);
  const startedAt = process.hrtime.bigint();
  const requests = await work(loadConnections, make, options, target);
  const wall = Number(process.hrtime.bigint() - startedAt) / 1e6 / requests;
  const cpuAfter = processCpu(target.pid);
  loadConnections.close();
  return { wall, cpu: cpuBefore === undefined ? undefined : (cpuAfter - cpuBefore) / requests };
}

/**
 * Alternates between the service, a server with a recorded response, and a floor.
 * @param test the requests, the goal for the CPU time in relation to the floor's, and optionally `work` for the service and the floor
 */
export async function compare({ service, floor }, test, options) {
  const make = requestBytes(test, service.token);
  const recorded = await startFloor({ recorded: await recordResponse(service, make) });
  try {
    const targets = { recorded, floor, service };
    const results = { recorded: [], floor: [], service: [] };
    for (let round = -1; round < options.rounds; round += 1) {
      const order = Object.keys(targets);
      for (const name of round % 2 === 0 ? order : order.reverse()) {
        const result = await load(targets[name], make, options, name === 'recorded' ? undefined : test.work);
        if (round >= 0) results[name].push(result);
      }
    }
    return comparison(test, results);
  } finally {
    recorded.stop();
  }
}

function comparison({ name, goal }, results) {
  const figures = Object.fromEntries(
    Object.entries(results).map(([target, measured]) => {
      const medianOf = (field) => median(measured.map((result) => result[field]));
      return [target, { per_second: 1_000 / medianOf('wall'), cpu_us: 1_000 * (medianOf('cpu') ?? Number.NaN) }];
    }),
  );
  return { name, ...figures, ratio: figures.service.cpu_us / figures.floor.cpu_us, goal };
}
