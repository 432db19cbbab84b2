/** Runs the user's git in the user's checkout, with the user's configuration. */
import { spawn } from 'node:child_process';
import { AopsError, exitCodes } from '../../../base/errors.ts';

export interface GitCall {
  /** Additional variables. */
  env?: Record<string, string>;
  /** Standard input, its bytes in latin1. */
  input?: string;
  /** Whether it continues to its end when the command is interrupted, because half of its work would be worse. */
  ignoresInterrupts?: boolean;
}

export interface GitAnswer {
  code: number | null;
  /** Its bytes in latin1, because names of files can have any encoding. */
  stdout: string;
  stderr: string;
}

/** Variables that would redirect git to another repository, as in a hook. */
const redirecting = /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX)$/;

export class LocalGit {
  readonly #folder: string;
  readonly #env: Record<string, string | undefined>;
  readonly #signal: AbortSignal;

  constructor(folder: string, { env, signal }: { env: Readonly<Record<string, string | undefined>>; signal: AbortSignal }) {
    this.#folder = folder;
    this.#env = { ...Object.fromEntries(Object.entries(env).filter(([name]) => !redirecting.test(name))), LC_ALL: 'C' };
    this.#signal = signal;
  }

  /** Another folder, with everything else the same. */
  inFolder(folder: string): LocalGit {
    return new LocalGit(folder, { env: this.#env, signal: this.#signal });
  }

  /** Runs git to its end; an exit code other than 0 is a result. @throws AopsError `git_not_found`, or the signal's reason */
  run(args: readonly string[], { env, input, ignoresInterrupts = false }: GitCall = {}): Promise<GitAnswer> {
    this.#signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      // Ctrl-C reaches only the processes of the terminal's group.
      const child = spawn('git', args, { cwd: this.#folder, env: { ...this.#env, ...env }, stdio: 'pipe', detached: ignoresInterrupts });
      const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
      child.stdin.on('error', () => undefined);
      child.stdin.end(input ?? '', 'latin1');
      const abort = (): void => void child.kill();
      if (!ignoresInterrupts) this.#signal.addEventListener('abort', abort, { once: true });
      child.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? missingGit() : error));
      child.once('close', (code) => {
        this.#signal.removeEventListener('abort', abort);
        if (this.#signal.aborted && !ignoresInterrupts) return reject(this.#signal.reason);
        resolve({ code, stdout: Buffer.concat(stdout).toString('latin1'), stderr: Buffer.concat(stderr).toString('utf8') });
      });
    });
  }

  /** The output of a call that has to succeed. @param task for the error: `reading the index` @throws AopsError `git_failed` */
  async output(args: readonly string[], task: string, call?: GitCall): Promise<string> {
    const answer = await this.run(args, call);
    if (answer.code !== 0) throw gitFailed(task, answer);
    return answer.stdout;
  }
}

const missingGit = (): AopsError =>
  new AopsError('git is not installed, or not in your PATH.', {
    code: 'git_not_found',
    exit: exitCodes.failure,
    hint: 'Install it, for example with `apt-get install git` or `brew install git`.',
  });

export function gitFailed(task: string, { code, stderr }: GitAnswer, hint?: string): AopsError {
  const reason = stderr.trim().split('\n').slice(-3).join(' ') || `it ended with ${code === null ? 'a signal' : `exit code ${code}`}`;
  return new AopsError(`git failed while ${task}: ${reason}`, { code: 'git_failed', exit: exitCodes.failure, ...(hint && { hint }) });
}

/** The names in output of git that separates them with NUL. */
export const namesIn = (output: string): string[] => output.split('\0').filter((name) => name !== '');

/** A name or other output of git as text. */
export const textOf = (output: string): string => Buffer.from(output, 'latin1').toString('utf8');
