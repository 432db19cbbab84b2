/** Starts the driver, which runs commands at a level, as a user. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { rolldown } from 'rolldown';
import { needsContainment } from '../../support/contained.ts';
import { type Missing, needsRoot } from '../../support/requirements.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import type { Orders, Outcome } from './escape-driver.ts';

export const mebibyte = 1024 * 1024;

export interface DriverUser {
  name: string;
  /** Undefined for the user of the tests. */
  uid: number | undefined;
  missing: Missing;
}

/** The users as which programs are started. */
export const users: readonly DriverUser[] = [
  { name: 'the user of the tests', uid: undefined, missing: needsContainment },
  { name: 'another user than root', uid: 65_534, missing: needsRoot ?? needsContainment },
];

export const ownerOf = ({ uid }: DriverUser): number => uid ?? process.getuid?.() ?? 0;

/** Whether the user's programs can have control groups: only root can create them here. */
export const hasControlGroups = (user: DriverUser): boolean =>
  ownerOf(user) === 0 && (existsSync('/sys/fs/cgroup/pids/cgroup.procs') || existsSync('/sys/fs/cgroup/cgroup.controllers'));

/** The arguments of all processes of this machine. */
export const commandLines = (): string[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, 'utf8')] : [];
    } catch {
      return [];
    }
  });

export interface Stage {
  user: DriverUser;
  /** A real path, which everyone can enter. */
  folder: string;
  /** A folder in it that belongs to the user. */
  data: string;
}

/** Creates a data directory with files. @param files their contents, by their paths in the data directory */
export async function stageFor(user: DriverUser, files: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const folder = await realpath(await temporaryFolder());
  await chmod(folder, 0o755);
  const data = path.join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  const places = new Set([data]);
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(data, name);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, content, { mode: 0o600 });
    for (let place = file; place !== data; place = path.dirname(place)) places.add(place);
  }
  if (user.uid !== undefined) for (const place of places) await chown(place, user.uid, user.uid);
  return { user, folder, data };
}

/** Runs the orders. @param environment variables of the driver; with `terminal`, it has a terminal, if the machine can provide one */
export async function drive(
  { user, folder, data }: Stage,
  orders: Pick<Orders, 'level' | 'port' | 'orders'>,
  { environment = {}, terminal = false }: { environment?: Record<string, string>; terminal?: boolean } = {},
): Promise<Record<string, Outcome>> {
  const [driver, file, outcomes] = [path.join(folder, 'driver.mjs'), path.join(folder, 'orders.json'), path.join(folder, 'outcomes.json')];
  const bundle = await rolldown({ input: path.join(import.meta.dirname, 'escape-driver.ts'), platform: 'node', logLevel: 'silent' });
  await bundle.write({ file: driver, format: 'esm' });
  await bundle.close();
  const searchPath = process.env.PATH ?? '';
  await writeFile(file, JSON.stringify({ dataDirectory: data, searchPath, outcomes, ...orders } satisfies Orders));
  await writeFile(outcomes, '');
  if (user.uid !== undefined) await chown(outcomes, user.uid, user.uid);
  const command = [process.execPath, driver, file];
  const [program = '', ...args] = terminal ? ['script', '-qec', command.join(' '), '/dev/null'] : command;
  const child = spawn(program, args, {
    ...(user.uid === undefined ? {} : { uid: user.uid, gid: user.uid }),
    cwd: folder,
    env: { PATH: searchPath, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve) => child.once('close', resolve));
  const text = readFileSync(outcomes, 'utf8');
  if (text === '') throw new Error(`The driver failed: ${output}`);
  return JSON.parse(text) as Record<string, Outcome>;
}
