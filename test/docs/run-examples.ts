/**
 * Runs the examples of a document as a person would: one shell in a fresh folder with a copy of examples/, `aops` on its PATH,
 * and a terminal of 80 columns as its output. stderr goes to files, so that nothing moves and nobody is asked.
 */
import { spawn as spawnProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { spawn } from '@lydell/node-pty';
import { binary, codeCache } from '../support/machine.ts';
import { canReside, ResidentAops } from '../support/resident-aops.ts';
import { type Example, root } from './markdown.ts';

export interface Output {
  stdout: string[];
  stderr: string[];
}

/** Stands between the outputs of two examples on the terminal. */
const separator = '\u001e';

/**
 * The outputs of the examples, in their order. Everything that was made or started is gone afterwards.
 * @param processes whether each `aops` is a process, as it is for a person; otherwise, this process runs them where it can, which is faster
 */
export async function runExamples(
  examples: readonly Example[],
  { processes }: { processes: boolean },
): Promise<{ home: string; outputs: Output[] }> {
  const home = await mkdtemp(path.join(tmpdir(), 'aops-docs-'));
  const env = environment(home);
  const programs = path.join(home, 'bin');
  await mkdir(programs);
  const resident = processes || !canReside ? await linkProgram(programs) : await ResidentAops.start(programs);
  try {
    await mkdir(path.join(home, 'work'));
    await mkdir(path.join(home, 'stderr'));
    await cp(path.join(root, 'examples'), path.join(home, 'work', 'examples'), { recursive: true });
    await writeFile(path.join(home, 'examples.sh'), script(examples, home));
    const screen = await terminalOutput(path.join(home, 'examples.sh'), path.join(home, 'work'), env);
    const parts = screen.replaceAll('\r\n', '\n').split(separator);
    const outputs = examples.map(async (_, index) => ({
      stdout: linesOf(parts[index] ?? '(the shell ended before this)'),
      stderr: linesOf(await readFile(path.join(home, 'stderr', String(index)), 'utf8').catch(() => '')),
    }));
    return { home, outputs: await Promise.all(outputs) };
  } finally {
    await once(spawnProcess(path.join(programs, 'aops'), ['local', 'down'], { env, stdio: 'ignore' }), 'exit');
    await resident?.close();
    await rm(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function linkProgram(folder: string): Promise<undefined> {
  await symlink(binary, path.join(folder, 'aops'));
}

/** The folders are where they would be without the variables. */
const environment = (home: string): Record<string, string> => ({
  HOME: home,
  PATH: `${path.join(home, 'bin')}${path.delimiter}${process.env.PATH ?? ''}`,
  AOPS_CONFIG_DIR: path.join(home, '.config', 'aops'),
  AOPS_DATA_DIR: path.join(home, '.local', 'share', 'aops'),
  AOPS_CACHE_DIR: path.join(home, '.cache', 'aops'),
  TERM: 'xterm-256color',
  NO_COLOR: '1',
  NODE_COMPILE_CACHE: codeCache,
});

/** Each command in braces, not in a shell of its own: variables that one sets are there for the next. */
const script = (examples: readonly Example[], home: string): string =>
  examples
    .map(({ command }, index) => `{ ${command}\n} 2>> '${path.join(home, 'stderr', String(index))}'\nprintf '${separator}'\n`)
    .join('');

function terminalOutput(file: string, cwd: string, env: Record<string, string>): Promise<string> {
  const terminal = spawn('/bin/sh', [file], { name: 'xterm-256color', cols: 80, rows: 50, cwd, env });
  let output = '';
  terminal.onData((data) => {
    output += data;
  });
  return new Promise((resolve) => {
    terminal.onExit(() => resolve(output));
  });
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));
