/**
 * Runs `sync -f`. To start a program, the system copies the tables of the memory of this process, which takes a service several
 * milliseconds. A small shell starts them instead, which ends by itself after a while, and with this process.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/** The shell reads a number and a folder from each line, and answers with the number and the exit code. */
const script = 'while read -r id folder; do { sync -f -- "$folder"; echo "$id $?"; } & done';
/** How long the shell waits for the next request, in milliseconds. */
const idleTime = 5_000;

/** The shell of this process, if it has one. */
let current: SyncShell | undefined;

/** Waits until everything that was written to the file system of a folder is on the disk. Returns whether that was possible. */
export async function syncFileSystem(folder: string): Promise<boolean> {
  // A line cannot contain these, and `read` removes spaces at its end.
  if (/\n|\s$/.test(folder)) return false;
  current ??= new SyncShell((ended) => {
    if (current === ended) current = undefined;
  });
  return current.sync(folder);
}

class SyncShell {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #requests = new Map<string, (isSynced: boolean) => void>();
  readonly #onEnd: (shell: SyncShell) => void;
  #lastId = 0;
  #idleTimer: NodeJS.Timeout | undefined;

  /** @param onEnd called when it accepts no more requests */
  constructor(onEnd: (shell: SyncShell) => void) {
    this.#onEnd = onEnd;
    const child = spawn('/bin/sh', ['-c', script], { cwd: '/', stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child = child;
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${output}${text}`.split('\n');
      output = lines.pop() as string;
      for (const line of lines) this.#settle(line.split(' ')[0] as string, line.endsWith(' 0'));
    });
    child.once('error', () => this.#fail()).once('close', () => this.#fail());
    child.stdin.on('error', () => this.#fail());
  }

  async sync(folder: string): Promise<boolean> {
    clearTimeout(this.#idleTimer);
    this.#lastId += 1;
    const id = String(this.#lastId);
    this.#keepAlive(true);
    return new Promise((resolve) => {
      this.#requests.set(id, resolve);
      this.#child.stdin.write(`${id} ${folder}\n`);
    });
  }

  #settle(id: string, isSynced: boolean): void {
    this.#requests.get(id)?.(isSynced);
    this.#requests.delete(id);
    if (this.#requests.size > 0) return;
    this.#keepAlive(false);
    this.#idleTimer = setTimeout(() => this.#end(), idleTime).unref();
  }

  /** Whoever waits syncs in another way. */
  #fail(): void {
    this.#onEnd(this);
    for (const id of [...this.#requests.keys()]) this.#settle(id, false);
    clearTimeout(this.#idleTimer);
  }

  #end(): void {
    this.#onEnd(this);
    this.#child.stdin.end();
  }

  /** Whether this process waits for the shell before it ends. */
  #keepAlive(isNeeded: boolean): void {
    const { stdin, stdout } = this.#child;
    for (const part of [this.#child, stdin as Socket, stdout as Socket]) {
      if (isNeeded) part.ref();
      else part.unref();
    }
  }
}
