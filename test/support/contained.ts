/** Programs in a sandbox of bubblewrap, for the tests of what they can and cannot do. */
import { spawnSync } from 'node:child_process';
import { mkdir, realpath } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { Containment, type ContainmentOptions } from '../../src/service/contained/containment.ts';
import type { LaunchRequest } from '../../src/service/sandbox/launch.ts';
import { startProcess } from '../../src/service/sandbox/process.ts';
import type { Missing } from './requirements.ts';
import { temporaryFolder, whenDone } from './temporary.ts';

const trial = spawnSync('bwrap', ['--unshare-user', '--unshare-all', '--ro-bind', '/', '/', 'true'], { encoding: 'utf8' });

/** Why nothing can be contained on this machine. */
export const needsContainment: Missing =
  trial.error !== undefined
    ? 'bubblewrap is not installed (apt-get install bubblewrap)'
    : trial.status === 0
      ? undefined
      : `bubblewrap cannot create a sandbox here: ${trial.stderr.trim()}; \`aops doctor\` explains how to allow it`;

/** A port of this machine that accepts connections. */
export async function listening(): Promise<{ server: Server; port: number; connections: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.on('error', () => undefined).end('hello\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { server, port: (server.address() as { port: number }).port, connections: () => count };
}

export interface ProcessResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** A data directory with runs, whose programs are contained. */
export class ContainedRuns {
  readonly containment: Containment;
  /** A real path. */
  readonly dataDirectory: string;
  /** Where the service listens. */
  readonly port: number;
  /** The number of connections to the service. */
  readonly connections: () => number;

  private constructor(containment: Containment, dataDirectory: string, service: Pick<ContainedRuns, 'port' | 'connections'>) {
    this.containment = containment;
    this.dataDirectory = dataDirectory;
    this.port = service.port;
    this.connections = service.connections;
  }

  static async start(options: Pick<ContainmentOptions, 'allow' | 'lookup'> = {}): Promise<ContainedRuns> {
    const dataDirectory = await realpath(await temporaryFolder());
    const service = await listening();
    const containment = new Containment({
      setting: 'contained',
      dataDirectory,
      searchPath: process.env.PATH ?? '',
      node: process.execPath,
      ...options,
    });
    await containment.start('127.0.0.1', service.port);
    return new ContainedRuns(containment, dataDirectory, service);
  }

  /** The folder of a run, with a workspace and a folder for temporary files. */
  async folder(run: string): Promise<string> {
    const folder = path.join(this.dataDirectory, 'sandboxes', run);
    await mkdir(path.join(folder, 'workspace'), { recursive: true });
    await mkdir(path.join(folder, 'tmp'), { recursive: true });
    return folder;
  }

  /** The request to run a shell command in the workspace of a run. */
  async request(command: string, run = 'this-run'): Promise<LaunchRequest> {
    const folder = await this.folder(run);
    const directory = path.join(folder, 'workspace');
    const environment = { PATH: process.env.PATH ?? '', HOME: directory, TMPDIR: path.join(folder, 'tmp'), LANG: 'C.UTF-8' };
    return { program: '/bin/sh', args: ['-c', command], environment, directory, home: directory, temporary: path.join(folder, 'tmp') };
  }

  /** Runs a shell command in a sandbox, and waits for its end. */
  async run(command: string, changes: Partial<LaunchRequest> = {}): Promise<ProcessResult> {
    const startedProcess = await startProcess(await this.containment.prepare({ ...(await this.request(command)), ...changes }));
    const texts = Promise.all(
      [startedProcess.stdout, startedProcess.stderr].map(async (stream) => Buffer.concat(await stream.toArray()).toString()),
    );
    const { exitCode } = await startedProcess.exit;
    await startedProcess.close();
    const [stdout = '', stderr = ''] = await texts;
    return { exitCode, stdout, stderr };
  }
}
