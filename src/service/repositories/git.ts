/**
 * Runs git for the service. Nothing that a repository contains or configures is executed: no hooks, filters, credential helpers, or
 * file system monitors, and no configuration of the user or the system applies. Every process ends with the service.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { startKeeper } from '../sandbox/keeper.ts';
import { type GitEnd, missingGitError, timeLimitError } from './problems.ts';

export interface GitOptions {
  /** The current folder, which must exist. */
  cwd: string;
  /** Additional variables, such as `GIT_DIR`. */
  env?: Record<string, string>;
  /** The protocols that git can use; by default none. `file` allows repositories on this machine. */
  protocols?: 'file' | 'http:https';
  /** Standard input: its bytes in latin1. */
  input?: string;
  /** A file descriptor for standard output, which is otherwise collected. */
  output?: number;
  /** Milliseconds after which git is terminated and 409 `git_timed_out` is thrown. The default is one minute. */
  timeLimit?: number;
  /** What git is doing, for errors: `fetching https://example.com/a.git`. */
  task?: string;
  signal: AbortSignal;
  /** Called with lines of progress. */
  onProgress?: ((line: string) => void) | undefined;
}

export interface GitResult extends GitEnd {
  /** Standard output: its bytes in latin1, because file names can have any encoding; see `textOf`. */
  stdout: string;
}

const minute = 60_000;
/** Milliseconds between SIGTERM, at which git removes its lock files, and SIGKILL. */
const gracePeriod = 1_000;
const maxErrorBytes = 64 * 1024;
/** The limit of collected output, in bytes, which is enough for the file list of a large repository. */
const maxOutputBytes = 256 * 1024 * 1024;

/** Configuration that the repository cannot override. */
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.quotePath=true',
  'credential.helper=',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'fetch.unpackLimit=1',
  'gc.auto=0',
  'maintenance.auto=false',
  // git must only connect to addresses that were checked, so a server must not redirect it.
  'http.followRedirects=false',
  'http.proxy=',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting]);

export class Git {
  readonly #searchPath: string;
  readonly #home: string;

  /** @param options `path` is the PATH in which git is found; `home` a folder without any configuration */
  constructor({ path, home }: { path: string; home: string }) {
    this.#searchPath = path;
    this.#home = home;
  }

  /**
   * Runs git to its end; an exit code other than 0 is a result. Throws 409 `git_not_found` or `git_timed_out`, problems of the host,
   * and the signal's reason.
   */
  async run(args: readonly string[], options: GitOptions): Promise<GitResult> {
    options.signal.throwIfAborted();
    const keeper = await startKeeper();
    try {
      return await this.#supervise(args, options, keeper);
    } finally {
      keeper.dismiss();
    }
  }

  /** The version of git: `2.39.5`. */
  async version(signal: AbortSignal): Promise<string> {
    const { stdout } = await this.run(['--version'], { cwd: '/', signal });
    return /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? '0';
  }

  async #supervise(args: readonly string[], options: GitOptions, keeper: Awaited<ReturnType<typeof startKeeper>>): Promise<GitResult> {
    const child = spawn('git', [...settings, ...args], {
      cwd: options.cwd,
      env: this.#environment(options),
      // It leads its own process group, which contains the programs that it starts.
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', options.output ?? 'pipe', 'pipe'],
    });
    const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const closed = once(child, 'close');
    closed.catch(() => undefined);
    if (child.pid !== undefined) keeper.keep(child.pid);
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input, 'latin1');
    const stdout = child.stdout === null ? undefined : collect(child.stdout, maxOutputBytes);
    const stderr = collectEnd(child.stderr as Readable, options.onProgress);
    const end = async (): Promise<void> => {
      await keeper.signal('TERM');
      await Promise.race([exit, delay(gracePeriod)]).catch(() => undefined);
      await keeper.signal('KILL');
    };
    let hasTimedOut = false;
    const limit = options.timeLimit ?? minute;
    const timer = setTimeout(() => {
      hasTimedOut = true;
      void end();
    }, limit);
    const abort = (): void => void end();
    options.signal.addEventListener('abort', abort, { once: true });
    try {
      const [code, signal] = await exit.catch((error: NodeJS.ErrnoException) => {
        // The same code means that the folder was removed in the meantime.
        throw error.code === 'ENOENT' && existsSync(options.cwd) ? missingGitError() : error;
      });
      await closed;
      options.signal.throwIfAborted();
      if (hasTimedOut) throw timeLimitError(options.task ?? `git ${args[0]}`, limit);
      return { code, signal, stdout: stdout?.() ?? '', stderr: stderr() };
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', abort);
    }
  }

  #environment({ env, protocols }: GitOptions): Record<string, string> {
    return {
      PATH: this.#searchPath,
      HOME: this.#home,
      XDG_CONFIG_HOME: this.#home,
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_ATTR_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      // Reading a repository must not write to it, not even to refresh its index or to complete a partial clone.
      GIT_OPTIONAL_LOCKS: '0',
      GIT_NO_LAZY_FETCH: '1',
      GIT_ALLOW_PROTOCOL: protocols ?? '',
      GIT_PROTOCOL_FROM_USER: '0',
      ...env,
    };
  }
}

/** Converts output of git to text. Invalid UTF-8 is replaced. */
export const textOf = (output: string): string => Buffer.from(output, 'latin1').toString('utf8');

function collect(stream: Readable, limit: number): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else stream.destroy();
  });
  return () => {
    if (size > limit) throw new ServiceError(409, 'repository_too_large', 'The repository has too many files.');
    return Buffer.concat(chunks).toString('latin1');
  };
}

/** Collects the last lines of a stream. Progress lines end in carriage returns and are not collected. */
function collectEnd(stream: Readable, onProgress: ((line: string) => void) | undefined): () => string {
  let text = '';
  let line = '';
  stream.on('data', (chunk: Buffer) => {
    for (const part of chunk.toString('utf8').split(/(?<=[\r\n])/)) {
      line = (line + part).slice(-maxErrorBytes);
      if (line.endsWith('\r')) onProgress?.(line.trim());
      else if (line.endsWith('\n')) text = (text + line).slice(-maxErrorBytes);
      if (/[\r\n]$/.test(line)) line = '';
    }
  });
  return () => text + line;
}
