/**
 * Terminates process groups. A keeper is a small shell, started before the command that it watches, that sends signals on request:
 * its `kill` is built in, so it works even if no more processes can be started (a fork bomb). When the service dies, its input
 * ends and it kills the group, so that no command outlives the service and is still running when it is repeated.
 *
 * A shell that is dismissed waits for the next command, because starting another one takes about as long as a short command.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface Keeper {
  /** Sets the group to kill and the folder to remove if the service dies. */
  keep(group: number, folder?: string): void;
  /** Sets a word without spaces; if the service dies, processes whose environment contains it are killed as well. Only on Linux. */
  mark(word: string): void;
  /** Sends a signal to the group, or to another one; `0` only checks. Returns false when the group has no members any more. */
  signal(name: 'TERM' | 'KILL' | '0', otherGroup?: number): Promise<boolean>;
  /** Ends the work of the keeper, which sends no more signals. */
  dismiss(): void;
}

/** How many shells wait for the next command at most. */
const maxIdleShells = 4;

// Input lines: "keep GROUP FOLDER", "mark WORD", "send SIGNAL [GROUP]", "dismiss". Output: a line for every signal, whether the group exists.
const script = `
group=
folder=
marker=
while read -r word value rest; do
  case $word in
    keep) group=$value folder=$rest ;;
    mark) marker=$value ;;
    send) to=\${rest:-$group}; if [ -n "$to" ] && kill -s "$value" -- "-$to" 2>/dev/null; then echo yes; else echo no; fi ;;
    dismiss) group= folder= marker= ;;
  esac
done
if [ -n "$group" ]; then kill -s KILL -- "-$group" 2>/dev/null; fi
if [ -n "$marker" ]; then
  for place in /proc/[0-9]*; do
    if command -p grep -Fqs -e "$marker" "$place/environ"; then kill -s KILL "\${place#/proc/}" 2>/dev/null; fi
  done
fi
if [ -n "$folder" ]; then command -p rm -rf -- "$folder"; fi
`;

/** The shells that wait for a command. They do not keep this process running, and end with it. */
const idleShells: Shell[] = [];

/** Starts a keeper. Rejects if no process can be started. */
export async function startKeeper(): Promise<Keeper> {
  for (let shell = idleShells.pop(); shell !== undefined; shell = idleShells.pop()) {
    shell.hold();
    // Somebody may have killed it while it was idle.
    if (await shell.isAlive()) return newKeeper(shell);
  }
  return newKeeper(await Shell.start());
}

/** A keeper with its own shell until it is dismissed: the shell then serves another keeper, whose group must be safe from this one. */
function newKeeper(shell: Shell): Keeper {
  let isDismissed = false;
  const write = (line: string): void => {
    if (!isDismissed) shell.write(line);
  };
  return {
    keep: (group, folder = '') => write(`keep ${group} ${folder}`),
    mark: (word) => write(`mark ${word}`),
    signal: async (name, otherGroup) => !isDismissed && (await shell.signal(name, otherGroup)),
    dismiss() {
      write('dismiss');
      if (!isDismissed) shell.release();
      isDismissed = true;
    },
  };
}

class Shell {
  readonly #child: ChildProcess;
  readonly #input: Socket;
  readonly #output: Socket;
  readonly #waiters: ((exists: boolean) => void)[] = [];
  #isGone = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
    // Pipes are sockets.
    this.#input = child.stdin as unknown as Socket;
    this.#output = child.stdout as unknown as Socket;
    const end = (): void => {
      this.#isGone = true;
      for (const answer of this.#waiters.splice(0)) answer(false);
      const index = idleShells.indexOf(this);
      if (index >= 0) idleShells.splice(index, 1);
    };
    child.once('exit', end).on('error', end);
    this.#input.on('error', end);
    createInterface({ input: this.#output }).on('line', (line) => this.#waiters.shift()?.(line === 'yes'));
  }

  static async start(): Promise<Shell> {
    // detached: Ctrl-C in the service's terminal must not end it before it has done its work.
    const child = spawn('/bin/sh', ['-c', script], { env: {}, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
    await once(child, 'spawn');
    return new Shell(child);
  }

  write(line: string): void {
    this.#input.write(`${line}\n`);
  }

  signal(name: string, otherGroup?: number): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#isGone) return resolve(false);
      this.#waiters.push(resolve);
      this.write(`send ${name} ${otherGroup ?? ''}`);
    });
  }

  /** Whether the shell, which has no group, still answers. */
  async isAlive(): Promise<boolean> {
    await this.signal('0');
    return !this.#isGone;
  }

  /** From now on, the shell keeps this process running. */
  hold(): void {
    for (const handle of [this.#child, this.#input, this.#output]) handle.ref();
  }

  /** Lets the shell wait for the next command, or end if enough others are waiting. */
  release(): void {
    if (this.#isGone) return;
    for (const handle of [this.#child, this.#input, this.#output]) handle.unref();
    if (idleShells.length < maxIdleShells) idleShells.push(this);
    else this.#input.end();
  }
}
