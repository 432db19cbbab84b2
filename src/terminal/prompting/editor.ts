/** The user's editor, which has exclusive use of the terminal until it exits. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../capabilities.ts';
import type { Drafts } from './drafts.ts';

/** The editor command in shell syntax; undefined when the user has not set one. */
export const editorCommand = (env: Environment): string | undefined => env.VISUAL?.trim() || env.EDITOR?.trim() || undefined;

export interface EditedText {
  /** The final content of the file. */
  text: string;
  /** What went wrong with the editor, as a sentence. */
  problem?: string;
}

/**
 * Opens a file with this text in the editor and resolves when the editor exits. Until then the file is stored with the unsent
 * texts, readable by its owner only, so that the text survives even if this process does not.
 * @param stdout whether stdout is the terminal; if not, the editor writes to stderr
 */
export async function edit(
  { command, drafts, stdout }: { command: string; drafts: Drafts; stdout: boolean },
  text: string,
  name: string,
  extension: string,
): Promise<EditedText> {
  const file = drafts.save(text, name, extension);
  try {
    const problem = await runEditor(command, file, stdout);
    return { text: readFileSync(file, 'utf8'), ...(problem === undefined ? {} : { problem }) };
  } finally {
    drafts.remove(file);
  }
}

/**
 * Opens a file in the editor. Resolves when the editor exits, to what went wrong, as a sentence, or to undefined.
 * @param stdout whether stdout is the terminal; if not, the editor writes to stderr
 */
export async function runEditor(command: string, file: string, stdout: boolean): Promise<string | undefined> {
  const windows = path.sep === '\\';
  // Through the shell, as git does: the command may contain arguments and quotation marks.
  const argv = windows ? [command, `"${file}"`] : ['/bin/sh', '-c', `${command} "$@"`, command, file];
  const [program = '', ...rest] = argv;
  if (!windows && !(await commandExists(command))) return `The editor \`${command}\` was not found. Check VISUAL and EDITOR.`;
  return new Promise((resolve) => {
    const child = spawn(program, rest, { stdio: ['inherit', stdout ? 'inherit' : 2, 'inherit'], shell: windows });
    child.once('error', (error) => resolve(`The editor \`${command}\` could not be started: ${error.message}.`));
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined);
      else resolve(`The editor \`${command}\` failed (${signal ?? `exit code ${code}`}).`);
    });
  });
}

/** Whether the shell finds the program; checked first, so that the shell prints no error of its own. */
function commandExists(command: string): Promise<boolean> {
  const program = /^[\w./+-]+(?=\s|$)/.exec(command)?.[0];
  // Only the shell can interpret quotation marks and variables.
  if (program === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', 'command -v "$1" >/dev/null', 'sh', program], { stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
