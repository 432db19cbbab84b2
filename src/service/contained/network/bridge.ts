/**
 * Runs inside a sandbox, whose own loopback is its only network: forwards connections on some of its ports to sockets of the service,
 * and starts the program once it is listening. Arguments: PORT=SOCKET ... -- PROGRAM ARGUMENT ...
 * A single file without dependencies, because no other file of the service is visible in a sandbox.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const words = process.argv.slice(2);
const separator = words.indexOf('--');
const [program = '', ...programArguments] = words.slice(separator + 1);

/** The two directions end separately, so that a client that has finished sending still receives the response. */
function listen(word: string): Promise<void> {
  const [port, ...socketPath] = word.split('=');
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const service = connect({ path: socketPath.join('='), allowHalfOpen: true });
    socket.on('error', () => service.destroy()).pipe(service);
    service.on('error', () => socket.destroy()).pipe(socket);
  });
  return new Promise((resolve, reject) => server.once('error', reject).listen(Number(port), '127.0.0.1', resolve));
}

/** The exit code that a shell reports for a program that a signal has terminated. */
const signalExitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

function start(): void {
  // Signals go to the whole group. The program decides when it ends, and everything in the sandbox ends with the bridge.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const child = spawn(program, programArguments, { stdio: 'inherit' });
  child.once('error', (error: NodeJS.ErrnoException) => {
    process.stderr.write(`${program}: ${error.code === 'ENOENT' ? 'not found' : error.message}\n`);
    process.exit(error.code === 'ENOENT' ? 127 : 126);
  });
  child.once('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : signalExitCode(signal)));
}

Promise.all(words.slice(0, separator).map(listen)).then(start, (error: unknown) => {
  process.stderr.write(`The network of the sandbox cannot be set up: ${String(error)}\n`);
  process.exit(125);
});
