/**
 * Runs the commands of a shell in the process of the tests, because starting a process for each takes 0.1 s of CPU time. A link to
 * resident-aops.sh is the `aops` on the shell's search path: it sends its process ID and waits for the exit code. Its arguments,
 * environment, folder, and standard streams are those that the shell passed to it; /proc contains them all. The built program does the
 * work, as for a user, but without its launcher.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  writeSync,
} from 'node:fs';
import { rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { isatty, ReadStream, WriteStream } from 'node:tty';
import { promisify } from 'node:util';
import { exitCodes } from '../../src/base/errors.ts';
import type { Host } from '../../src/cli/program/host.ts';
import type { main } from '../../src/main.ts';
import { binary, project } from './machine.ts';

const { O_APPEND, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** Whether commands can be run here: only Linux has such a /proc. An installed package is tested with its own program. */
export const canReside = process.platform === 'linux' && process.env.AOPS_TEST_BIN === undefined;

export class ResidentAops {
  readonly #program: string;
  readonly #requests: Socket;
  readonly #running = new Set<Promise<void>>();

  private constructor(program: string) {
    this.#program = program;
    // Open for writing, too, so that it does not end between two commands.
    this.#requests = new Socket({ fd: openSync(`${program}.requests`, O_RDWR | O_NONBLOCK), readable: true, writable: false });
    createInterface({ input: this.#requests }).on('line', (line) => {
      const command = this.#serve(Number(line));
      this.#running.add(command);
      void command.finally(() => this.#running.delete(command));
    });
  }

  /** Creates `aops` in a folder. */
  static async start(folder: string): Promise<ResidentAops> {
    const program = path.join(folder, 'aops');
    // A link, not a copy: a program that is open for writing cannot be started, and a forked process may keep it open.
    await symlink(path.join(import.meta.dirname, 'resident-aops.sh'), program);
    await promisify(execFile)('mkfifo', [`${program}.requests`]);
    return new ResidentAops(program);
  }

  /** Waits for the commands that are running, and accepts no others. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
    this.#requests.destroy();
  }

  /** Runs the command of a process. */
  async #serve(pid: number): Promise<void> {
    const answer = openSync(`/proc/${pid}/fd/3`, O_WRONLY | O_NONBLOCK);
    await rm(`${this.#program}.${pid}`);
    let code: number = exitCodes.failure;
    try {
      const command = new ShellCommand(pid);
      code = await command.run();
      await command.close();
    } finally {
      writeSync(answer, `${code}\n`);
      closeSync(answer);
    }
  }
}

/** The command line of a process that runs resident-aops.sh, as a host of the program. */
class ShellCommand {
  readonly #pid: number;
  readonly #host: Host;
  #stdin: Readable | undefined;

  constructor(pid: number) {
    this.#pid = pid;
    const texts = (name: string): string[] => readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').slice(0, -1);
    const stdin = (): Readable => {
      this.#stdin ??= inputStream(this.#open(4, O_RDONLY));
      return this.#stdin;
    };
    const folder = readlinkSync(`/proc/${pid}/cwd`);
    this.#host = {
      // The first two are the shell and the script.
      argv: [process.execPath, binary, ...texts('cmdline').slice(2)],
      ...{ execPath: process.execPath, pid, platform: process.platform, version: process.version },
      env: Object.fromEntries(texts('environ').map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)])),
      get stdin() {
        return stdin();
      },
      stdout: outputStream(this.#open(5, O_WRONLY | O_APPEND)),
      stderr: outputStream(this.#open(6, O_WRONLY | O_APPEND)),
      cwd: () => folder,
      // Signals end the script, not the command.
      on: () => undefined,
      removeListener: () => undefined,
      rawListeners: () => [],
      kill: (target, signal) => process.kill(target, signal),
      memoryUsage: () => process.memoryUsage(),
      cpuUsage: () => process.cpuUsage(),
    };
  }

  /** Resolves to the exit code. */
  run(): Promise<number> {
    const program = createRequire(import.meta.url)(path.join(project, 'dist/main.js')) as { main: typeof main };
    return program.main(this.#host);
  }

  /** Resolves when everything is written, and nothing of the process is open, so that the reader of a pipe reads its end. */
  async close(): Promise<void> {
    for (const stream of [this.#host.stdout, this.#host.stderr]) {
      // It fails if the reader of a pipe has ended, which the command has noticed.
      await finished(stream.end(), { readable: false }).catch(() => undefined);
      if (!stream.closed) await once(stream.destroy(), 'close');
    }
    this.#stdin?.destroy();
  }

  /** Opens a descriptor of the process again. A pipe without a reader fails when it is written to, not here. */
  #open(descriptor: 4 | 5 | 6, flags: number): number {
    return openSync(`/proc/${this.#pid}/fd/${descriptor}`, flags | O_NOCTTY | O_NONBLOCK);
  }
}

/** The same kinds of streams as those of a process. */
function outputStream(fd: number): Writable {
  if (isatty(fd)) return new WriteStream(fd);
  return fstatSync(fd).isFIFO()
    ? Object.assign(new Socket({ fd, readable: false, writable: true }), { fd })
    : createWriteStream('', { fd });
}

function inputStream(fd: number): Readable {
  if (isatty(fd)) return new ReadStream(fd);
  return fstatSync(fd).isFIFO() ? new Socket({ fd, readable: true, writable: false }) : createReadStream('', { fd });
}
