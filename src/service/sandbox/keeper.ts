/**
 * Terminates process groups. A keeper is a small shell, started before the command that it watches, that sends signals on request:
 * its `kill` is built in, so it works even if no more processes can be started (a fork bomb). When the service dies, its input
 * ends and it kills the group, so that no command outlives the service and is still running when it is repeated.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export interface Keeper {
  /** Sets the group to kill and the folder to remove if the service dies. */
  keep(group: number, folder?: string): void;
  /** Sets a word without spaces; if the service dies, processes whose environment contains it are killed as well. Only on Linux. */
  mark(word: string): void;
  /** Sends a signal to the group, or to another one; `0` only checks. Returns false when the group has no members any more. */
  signal(name: 'TERM' | 'KILL' | '0', otherGroup?: number): Promise<boolean>;
  /** Ends the keeper, which sends no more signals. */
  dismiss(): void;
}

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
    dismiss) exit 0 ;;
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

/** Starts a keeper. Rejects if no process can be started. */
export async function startKeeper(): Promise<Keeper> {
  // detached: Ctrl-C in the service's terminal must not end it before it has done its work.
  const child = spawn('/bin/sh', ['-c', script], { env: {}, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  await once(child, 'spawn');
  const input = child.stdin as Writable;
  const waiters: ((exists: boolean) => void)[] = [];
  let isGone = false;
  const end = (): void => {
    isGone = true;
    for (const answer of waiters.splice(0)) answer(false);
  };
  child.once('exit', end).on('error', end);
  input.on('error', end);
  createInterface({ input: child.stdout as Readable }).on('line', (line) => waiters.shift()?.(line === 'yes'));
  return {
    keep: (group, folder = '') => void input.write(`keep ${group} ${folder}\n`),
    mark: (word) => void input.write(`mark ${word}\n`),
    signal: (name, otherGroup) =>
      new Promise((resolve) => {
        if (isGone) return resolve(false);
        waiters.push(resolve);
        input.write(`send ${name} ${otherGroup ?? ''}\n`);
      }),
    dismiss: () => void input.end('dismiss\n'),
  };
}
