/**
 * Runs commands at a level, as the user that starts it, and writes their outcomes to a file. Tests bundle it, so that they can start it
 * as another user. Its argument is the file with the orders.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { Containment } from '../../../src/service/contained/containment.ts';
import type { ServiceError } from '../../../src/service/errors.ts';
import type { ExecLevel, LaunchLimits } from '../../../src/service/sandbox/launch.ts';
import { startProcess } from '../../../src/service/sandbox/process.ts';

export interface Order {
  command: string;
  limits?: Partial<LaunchLimits>;
  /** Ends the command after this many milliseconds. */
  endAfter?: number;
}

export interface Orders {
  /** `contained` by default. */
  level?: ExecLevel;
  dataDirectory: string;
  port: number;
  searchPath: string;
  orders: Record<string, Order>;
  /** The file to write the outcomes to. */
  outcomes: string;
}

export interface Outcome {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** The error code, if the command was not started. */
  refusal?: string;
}

const {
  level = 'contained',
  dataDirectory,
  port,
  searchPath,
  orders,
  outcomes: file,
} = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as Orders;
const containment = new Containment({ setting: level, dataDirectory, searchPath, node: process.execPath });
await containment.start('127.0.0.1', port);
const folder = path.join(dataDirectory, 'sandboxes', 'own');
const [directory, temporary] = [path.join(folder, 'workspace'), path.join(folder, 'tmp')];
await mkdir(directory, { recursive: true });
await mkdir(temporary, { recursive: true });

async function carryOut({ command, limits = {}, endAfter }: Order): Promise<Outcome> {
  const environment = { PATH: searchPath, HOME: directory, TMPDIR: temporary, LANG: 'C.UTF-8' };
  const launch = await containment.prepare({
    ...{ program: '/bin/sh', args: ['-c', command], environment, directory, home: directory, temporary, limits },
  });
  const startedProcess = await startProcess(launch);
  const timer = endAfter === undefined ? undefined : setTimeout(() => void startedProcess.end(), endAfter);
  const texts = Promise.all(
    [startedProcess.stdout, startedProcess.stderr].map(async (stream) => Buffer.concat(await stream.toArray()).toString()),
  );
  const { exitCode } = await startedProcess.exit;
  clearTimeout(timer);
  await startedProcess.close();
  const [stdout = '', stderr = ''] = await texts;
  return { exitCode, stdout, stderr };
}

const outcomes: Record<string, Outcome> = {};
for (const [name, order] of Object.entries(orders))
  outcomes[name] = await carryOut(order).catch((error: ServiceError) => ({ exitCode: null, stdout: '', stderr: '', refusal: error.error }));
writeFileSync(file, JSON.stringify(outcomes));
