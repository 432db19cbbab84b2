/** Notifies the person at the terminal (--notify) and a command (--exec) of the events of a stream while it is watched. */
import { UsageError } from '../../base/errors.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import { selectedByConfig, selectedByFlags } from '../connect/selection.ts';
import { length } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { text, toggle } from '../kit/flags.ts';
import { commandEnvironment } from './command-environment.ts';
import { CommandQueue } from './command-queue.ts';
import { DesktopNotices } from './desktop-notices.ts';
import { notableTypes, notificationText, type StreamedEvent } from './notable-event.ts';
import { runCommand } from './run-command.ts';

export const notifyFlags = {
  notify: toggle(
    'Ring the bell and show a desktop notification when a request arrives or a run ends; `aops config set notify on` makes it the default',
  ),
  exec: text(
    'COMMAND',
    'Run this shell command when a request arrives or is resolved, and when a run ends, with the event as JSON on its standard input',
    { check: length(1) },
  ),
} as const;

export interface NotifyInput {
  notify: boolean | undefined;
  exec: string | undefined;
}

/** Rejects the flags on a command that was started without --watch. @throws UsageError */
export function requireWatch({ notify, exec }: NotifyInput): void {
  if (notify) throw new UsageError('--notify requires --watch.');
  if (exec !== undefined) throw new UsageError('--exec requires --watch.');
}

/** How long the end of a command waits silently for --exec, in milliseconds. */
const silentMilliseconds = 2_000;

export class Notifier {
  readonly #context: Context;
  readonly #notices: DesktopNotices | undefined;
  readonly #queue: CommandQueue<StreamedEvent> | undefined;

  constructor(context: Context, { notify, exec }: NotifyInput) {
    this.#context = context;
    const { terminal, clock, signal } = context;
    if (notify && !terminal.notifies) terminal.note('--notify has no effect without a terminal or in CI.');
    if (notify ?? context.config().notify.value) this.#notices = new DesktopNotices((text) => terminal.notify(text), clock);
    if (exec === undefined) return;
    this.#queue = commandQueue(context, exec);
    signal.addEventListener('abort', () => this.#queue?.abort(), { once: true });
  }

  event(event: StreamedEvent): void {
    if (!notableTypes.has(event.type)) return;
    const text = this.#notices && notificationText(event);
    if (text !== undefined) this.#notices?.add(text);
    this.#queue?.add(event);
  }

  /** Waits until the command has run for all events. After Ctrl-C, it is ended instead. @param error why watching ended, if it failed */
  async end(error?: unknown): Promise<void> {
    this.#notices?.end();
    const queue = this.#queue;
    if (queue === undefined) return;
    const { clock, terminal } = this.#context;
    if (error instanceof PromptCancelled) queue.abort();
    const done = new AbortController();
    clock.sleep(silentMilliseconds, done.signal).then(
      () => terminal.note('Waiting for the command of --exec to end.'),
      () => undefined,
    );
    await queue.drain();
    done.abort();
  }
}

function commandQueue(context: Context, command: string): CommandQueue<StreamedEvent> {
  const { terminal, clock, env, cwd, launcher } = context;
  const selection = { ...selectedByConfig(context.config()), ...selectedByFlags(context.flags) };
  return new CommandQueue<StreamedEvent>({
    run: (event, signal) =>
      runCommand({
        command,
        input: `${JSON.stringify(event)}\n`,
        env: commandEnvironment(env, selection, event),
        cwd,
        platform: launcher.platform,
        clock,
        signal,
        onLine: (line) => terminal.warn(line),
      }),
    describe: ({ type, run_id }) => `${type}, run ${run_id}`,
    warn: (line) => terminal.warn(line),
  });
}
