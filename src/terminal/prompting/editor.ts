/** The person's own editor, which has the terminal to itself until it ends. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../capabilities.ts';
import type { Drafts } from './drafts.ts';

/** The command of the editor, as the shell understands it; undefined when the person has not named one. */
export const editorCommand = (env: Environment): string | undefined => env.VISUAL?.trim() || env.EDITOR?.trim() || undefined;

export interface Edited {
  /** What the file held in the end. */
  text: string;
  /** Why the editor did not do what was wanted, as a sentence. */
  problem?: string;
}

/**
 * Opens the editor on a file with this text and resolves when it has ended. The file is private, and is kept with the unsent texts
 * until then, so that a text survives even if this process does not.
 * @param stdout whether stdout is the terminal; if not, the editor writes to stderr
 */
export async function edit(
  { command, drafts, stdout }: { command: string; drafts: Drafts; stdout: boolean },
  text: string,
  name: string,
  extension: string,
): Promise<Edited> {
  const file = drafts.save(text, name, extension);
  try {
    const problem = await run(command, file, stdout);
    return { text: readFileSync(file, 'utf8'), ...(problem === undefined ? {} : { problem }) };
  } finally {
    drafts.remove(file);
  }
}

/** Resolves to what went wrong, as a sentence. */
async function run(command: string, file: string, stdout: boolean): Promise<string | undefined> {
  const windows = path.sep === '\\';
  // Through the shell, like git: the command may have arguments and quotation marks.
  const argv = windows ? [command, `"${file}"`] : ['/bin/sh', '-c', `${command} "$@"`, command, file];
  const [program = '', ...rest] = argv;
  if (!windows && !(await isThere(command))) return `The editor \`${command}\` was not found. Check VISUAL and EDITOR.`;
  return new Promise((resolve) => {
    const child = spawn(program, rest, { stdio: ['inherit', stdout ? 'inherit' : 2, 'inherit'], shell: windows });
    child.once('error', (error) => resolve(`The editor \`${command}\` could not be started: ${error.message}.`));
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined);
      else resolve(`The editor \`${command}\` failed (${signal ?? `exit code ${code}`}).`);
    });
  });
}

/** Whether the shell finds the program, so that it need not say itself that it does not. */
function isThere(command: string): Promise<boolean> {
  const program = /^[\w./+-]+(?=\s|$)/.exec(command)?.[0];
  // Quotation marks and variables are the shell's to read.
  if (program === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', 'command -v "$1" >/dev/null', 'sh', program], { stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
