/** Animation on stderr: a spinner, a status line, a countdown. Never in CI, with --quiet or off a terminal. */
import type { Clock } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import type { Terminal } from './streams.ts';
import { resolveMarkup } from './style.ts';

/** Quick responses need no spinner; people notice a wait after about this long. */
const spinnerDelayMs = 150;
const refreshMs = 1_000;

/** A line at the bottom of the terminal that is redrawn; other output appears above it. */
export interface StatusLine {
  /** Shows the line. `text` is called at each refresh, at least once a second. */
  start(text: () => string): void;
  refresh(): void;
  /** Removes the line from the screen, for example while a prompt is open. */
  hide(): void;
  show(): void;
  stop(): void;
}

/** A status line that is on the screen now. */
interface VisibleLine {
  /** Hides the line while another one is shown. */
  suspend(): void;
  /** Shows the line again, unless it was hidden for good in the meantime. Returns whether it did. */
  resume(): boolean;
}

/** The status line at the bottom of each terminal: only one can be shown at a time. */
const visible = new WeakMap<Terminal, VisibleLine>();

/** A status line, or undefined where animation is off. While it is shown, it hides any status line that was there before. */
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
  let coveredLine: VisibleLine | undefined;
  let isSuspended = false;
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
  const visibleLine: VisibleLine = {
    suspend() {
      isSuspended = true;
      erase();
    },
    resume() {
      if (!isSuspended) return false;
      isSuspended = false;
      draw();
      return true;
    },
  };
  const line: StatusLine = {
    start(newText) {
      text = newText;
      line.show();
    },
    refresh() {
      spinner.text = resolveMarkup(text());
    },
    hide() {
      isSuspended = false;
      if (!timer) return;
      erase();
      if (coveredLine?.resume()) visible.set(terminal, coveredLine);
      else visible.delete(terminal);
      coveredLine = undefined;
    },
    show() {
      if (timer || isSuspended) return;
      coveredLine = visible.get(terminal);
      coveredLine?.suspend();
      visible.set(terminal, visibleLine);
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
  /** Removes the spinner. Safe to call twice. */
  stop(): void;
}

/** A spinner that appears only when the work takes longer than a moment. Shows nothing off a terminal. */
export function startSpinner(terminal: Terminal, text: string, clock: Clock): Spinner {
  if (!terminal.animated) return { update() {}, stop() {} };
  let current = text;
  const stopController = new AbortController();
  const showAfterDelay = async (): Promise<void> => {
    await clock.sleep(spinnerDelayMs, stopController.signal);
    const line = await statusLine(terminal);
    if (!line || stopController.signal.aborted) return;
    line.start(() => current);
    stopController.signal.addEventListener('abort', () => line.stop());
  };
  void showAfterDelay().catch(() => undefined);
  return {
    update: (newText) => {
      current = newText;
    },
    stop: () => stopController.abort(),
  };
}

/**
 * Shows the remaining time of a wait: a countdown on a terminal, and elsewhere one note with the time at which it ends.
 * @param endsAt milliseconds since the epoch
 * @returns a function that removes the line
 */
export async function startCountdown(terminal: Terminal, message: string, endsAt: number, clock: Clock): Promise<() => void> {
  const remaining = (): string => formatDuration(endsAt - clock.now());
  const line = await statusLine(terminal);
  if (!line) {
    terminal.note(`${message} (${remaining()}, until ${new Date(endsAt).toISOString()})`);
    return () => undefined;
  }
  line.start(() => `${message} (${remaining()})`);
  return () => line.stop();
}
