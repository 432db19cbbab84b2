/** What moves on stderr: a spinner, a status line, a countdown. Never in CI, with --quiet or off a terminal. */
import type { Clock } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import type { Terminal } from './streams.ts';
import { resolveMarkup } from './style.ts';

/** Quick answers need no spinner; people notice a wait after about this long. */
const spinnerDelayMs = 150;
const refreshMs = 1_000;

/** A line at the bottom of the terminal that is redrawn; writes of the terminal go above it. */
export interface StatusLine {
  /** Shows the line. `text` is asked at each refresh, at least once a second. */
  start(text: () => string): void;
  refresh(): void;
  /** Takes the line away, for a prompt. */
  hide(): void;
  show(): void;
  stop(): void;
}

/** A line that is on the terminal now. */
interface Shown {
  /** Makes room for another one. */
  suspend(): void;
  /** Comes back, unless it was taken away meanwhile; says whether it did. */
  resume(): boolean;
}

/** The line that is at the bottom of a terminal: there is room for one. */
const visible = new WeakMap<Terminal, Shown>();

/** A status line, or undefined where nothing may move. One that is shown while another is hides it for as long. */
export async function statusLine(terminal: Terminal): Promise<StatusLine | undefined> {
  if (!terminal.animated) return undefined;
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream: terminal.err.stream as NodeJS.WriteStream,
    color: terminal.err.color ? 'cyan' : false,
    isEnabled: true,
    // Standard input belongs to prompts and to Ctrl-C.
    discardStdin: false,
  });
  let text = (): string => '';
  let timer: NodeJS.Timeout | undefined;
  let beneath: Shown | undefined;
  let suspended = false;
  const draw = (): void => {
    line.refresh();
    spinner.start();
    timer = setInterval(line.refresh, refreshMs).unref();
  };
  const erase = (): void => {
    clearInterval(timer);
    timer = undefined;
    spinner.stop();
  };
  const shown: Shown = {
    suspend() {
      suspended = true;
      erase();
    },
    resume() {
      if (!suspended) return false;
      suspended = false;
      draw();
      return true;
    },
  };
  const line: StatusLine = {
    start(next) {
      text = next;
      line.show();
    },
    refresh() {
      spinner.text = resolveMarkup(text());
    },
    hide() {
      suspended = false;
      if (!timer) return;
      erase();
      if (beneath?.resume()) visible.set(terminal, beneath);
      else visible.delete(terminal);
      beneath = undefined;
    },
    show() {
      if (timer || suspended) return;
      beneath = visible.get(terminal);
      beneath?.suspend();
      visible.set(terminal, shown);
      draw();
    },
    stop() {
      line.hide();
    },
  };
  return line;
}

export interface Spinner {
  update(text: string): void;
  /** Takes the spinner away. Safe to call twice. */
  stop(): void;
}

/** A spinner that appears only when the work takes longer than a moment. Nothing off a terminal. */
export function startSpinner(terminal: Terminal, text: string, clock: Clock): Spinner {
  if (!terminal.animated) return { update() {}, stop() {} };
  let current = text;
  const stopped = new AbortController();
  const appear = async (): Promise<void> => {
    await clock.sleep(spinnerDelayMs, stopped.signal);
    const line = await statusLine(terminal);
    if (!line || stopped.signal.aborted) return;
    line.start(() => current);
    stopped.signal.addEventListener('abort', () => line.stop(), { once: true });
  };
  void appear().catch(() => undefined);
  return {
    update: (next) => {
      current = next;
    },
    stop: () => stopped.abort(),
  };
}

/**
 * Shows how long a wait still takes: a line counting down on a terminal, one plain note with the moment elsewhere.
 * @param endsAt milliseconds since the epoch
 * @returns a function that takes the line away
 */
export async function startCountdown(terminal: Terminal, message: string, endsAt: number, clock: Clock): Promise<() => void> {
  const left = (): string => formatDuration(endsAt - clock.now());
  const line = await statusLine(terminal);
  if (!line) {
    terminal.note(`${message} (${left()}, until ${new Date(endsAt).toISOString()})`);
    return () => undefined;
  }
  line.start(() => `${message} (${left()})`);
  return () => line.stop();
}
