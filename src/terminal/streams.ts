/**
 * The terminal: the capabilities of the three standard streams, and the only place that writes to them. All text is
 * sanitised here, whatever callers did before; back-pressure is awaited, and a closed pipe ends the output silently.
 */
import type { Writable } from 'node:stream';
import { AopsError, exitCodes } from '../base/errors.ts';
import { type ColorMode, type Environment, isCi } from './capabilities.ts';
import { notificationSequence } from './notification.ts';
import { SecretFilter } from './redact.ts';
import { escapeJson, sanitize, sanitizeLine } from './sanitize.ts';
import { InputSide, type InputStream, OutputSide, type OutputStream } from './sides.ts';
import { resolveMarkup } from './style.ts';
import { annotation, isGitHubActions, withoutCommands, withoutCommandsInJson } from './workflow-commands.ts';

/** Job control of the process in the foreground of the terminal. */
export interface JobControl {
  /** Stops this process and the others of its job, as Ctrl-Z does. Missing where jobs cannot be stopped. */
  stop?(): void;
  /** Calls the listener when the process continues after it was stopped. Returns a function that removes the listener. */
  onContinue(listener: () => void): () => void;
  /** Calls the listener when the process ends. Returns a function that removes the listener. */
  onExit(listener: () => void): () => void;
  /**
   * Lets Ctrl-C and SIGTERM end the process at once while work is in progress. For work that can block the event loop for any time, such
   * as a filter of the user: nothing could handle the signals.
   */
  interruptibly<Result>(work: () => Promise<Result>): Promise<Result>;
}

export interface TerminalStreams {
  /** Node opens standard input when this is first read, which takes 5 ms for a file; the terminal reads it only when needed. */
  readonly stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  env: Environment;
  jobs?: JobControl;
}

/** Options set by flags and settings, which may become known later. */
export interface TerminalOptions {
  color?: ColorMode;
  /** Silences notes. Warnings, errors and data stay. */
  quiet?: boolean;
  /** False for `--no-input`. */
  input?: boolean;
  /** Completes the commands that a text suggests, so that they do the same as here. */
  suggestions?: (text: string) => string;
}

export class Terminal {
  readonly in: InputSide;
  readonly out: OutputSide;
  readonly err: OutputSide;
  readonly env: Environment;
  readonly jobs: JobControl | undefined;
  /** Whether the process runs in CI: no animation, no questions. */
  readonly ci: boolean;
  /** Whether the log is read by GitHub Actions. */
  readonly #readsCommands: boolean;
  readonly #secrets = new SecretFilter();
  readonly #breakController = new AbortController();
  #options: TerminalOptions = {};
  #failure: AopsError | undefined;
  #errorsLost = false;
  /** Notes and warnings held back while a prompt is on the screen. */
  #waitingLines: string[] | undefined;

  constructor(streams: TerminalStreams, options: TerminalOptions = {}) {
    this.in = new InputSide(streams);
    this.out = new OutputSide(streams.stdout, streams.env);
    this.err = new OutputSide(streams.stderr, streams.env);
    this.env = streams.env;
    this.jobs = streams.jobs;
    this.ci = isCi(streams.env);
    this.#readsCommands = isGitHubActions(streams.env);
    streams.stdout.on('error', (error) => this.#handleOutFailure(error));
    streams.stderr.on('error', () => {
      this.#errorsLost = true;
    });
    this.configure(options);
  }

  /** Applies flags and settings; options that are left out keep their values. */
  configure(options: TerminalOptions): void {
    this.#options = { ...this.#options, ...options };
    this.out.setColor(this.#options.color ?? 'auto');
    this.err.setColor(this.#options.color ?? 'auto');
  }

  /** Does work that may block the event loop for any time, such as a filter of the user, so that Ctrl-C can end it. */
  interruptibly<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.jobs === undefined ? work() : this.jobs.interruptibly(work);
  }

  get quiet(): boolean {
    return this.#options.quiet === true;
  }

  /** Whether prompts are possible: stdin and stderr are terminals, this is not CI, and --no-input was not passed. */
  get interactive(): boolean {
    return this.err.isTTY && !this.ci && this.env.TERM !== 'dumb' && this.#options.input !== false && this.in.isTTY;
  }

  /** Whether animation is allowed on stderr. */
  get animated(): boolean {
    return this.err.isTTY && !this.ci && !this.quiet && this.env.TERM !== 'dumb';
  }

  /** Aborted when the reader of stdout has closed the pipe; the command should then end without printing an error. */
  get brokenPipe(): AbortSignal {
    return this.#breakController.signal;
  }

  /** Text for people on stdout, sanitised. Resolves when more may be written. @throws AopsError `output_failed` */
  write(text: string): Promise<void> {
    return this.#writeOut(this.#forPeople(text));
  }

  /** One line on stdout, sanitised. @throws AopsError `output_failed` */
  line(text = ''): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** Results on stdout: unchanged for programs, sanitised on a terminal. @throws AopsError `output_failed` */
  data(text: string): Promise<void> {
    return this.#writeOut(this.out.isTTY ? resolveMarkup(text) : text);
  }

  /** One compact JSON object on a line of stdout, for streams of events. @throws AopsError `output_failed` */
  json(value: unknown): Promise<void> {
    const text = JSON.stringify(value);
    const plain = this.#readsCommands ? withoutCommandsInJson(text) : text;
    return this.#writeOut(`${this.out.isTTY ? escapeJson(plain) : plain}\n`);
  }

  /** Bytes of a file on stdout, unchanged; the caller decides whether they may go to a terminal. @throws AopsError `output_failed` */
  bytes(chunk: Uint8Array): Promise<void> {
    return this.#writeOut(chunk);
  }

  /** A line on stderr about progress; silenced by --quiet, and after a broken pipe, when the command ends silently. */
  note(text: string): void {
    if (!this.quiet && !this.brokenPipe.aborted) this.#writeErr(`${text}\n`);
  }

  /** A note of our own that suggests commands. Texts of the service are notes, because they must not be changed. */
  advise(text: string): void {
    this.note(this.suggested(text));
  }

  /** A text with the commands that it suggests completed. */
  suggested(text: string): string {
    return this.#options.suggestions?.(text) ?? text;
  }

  /** A line on stderr that --quiet does not silence. */
  warn(text: string): void {
    this.#writeErr(`${text}\n`);
  }

  /** Whether notifications reach a person: stderr or stdout is a terminal, and this is not CI. */
  get notifies(): boolean {
    return (this.err.isTTY || this.out.isTTY) && !this.ci;
  }

  /**
   * Rings the bell and shows a notification on the desktop, where the terminal supports it. It moves no cursor, so it can be sent while
   * a prompt or a status line is on the screen.
   */
  notify(text: string): void {
    if (!this.notifies) return;
    const { stream } = this.err.isTTY ? this.err : this.out;
    // Control characters are made visible before secrets are searched for, so that they cannot split one.
    stream.write(notificationSequence(this.#secrets.apply(sanitizeLine(text)), this.env));
  }

  /** An annotation of the job in GitHub Actions, on stderr. */
  annotate(level: 'error' | 'warning', title: string, message: string): void {
    if (!this.#errorsLost) this.err.stream.write(`${this.#secrets.apply(annotation(level, sanitize(title), sanitize(message)))}\n`);
  }

  /** Whether a prompt is on the screen. */
  get prompting(): boolean {
    return this.#waitingLines !== undefined;
  }

  /**
   * Reserves the screen for a prompt, which redraws itself above the cursor: notes and warnings are held back until the
   * returned function is called.
   */
  reserveForPrompt(): () => void {
    const queuedLines: string[] = [];
    this.#waitingLines = queuedLines;
    return () => {
      this.#waitingLines = undefined;
      for (const text of queuedLines) this.#writeErr(text);
    };
  }

  /** Redacts this value, in all its usual encodings, from everything written to stderr. */
  protect(secret: string): void {
    this.#secrets.add(secret);
  }

  /** Resolves when all output has left the process, or when that has become impossible. */
  async flush(): Promise<void> {
    await Promise.all([this.out.stream, this.err.stream].map((stream) => waitForFinish(stream)));
  }

  async #writeOut(chunk: string | Uint8Array): Promise<void> {
    if (this.#breakController.signal.aborted || chunk.length === 0) return;
    this.#throwFailure();
    const hasCapacity = this.out.stream.write(chunk);
    if (!hasCapacity) await waitForDrain(this.out.stream);
    // The stream records its failure before it emits the event.
    if (this.out.stream.errored) this.#handleOutFailure(this.out.stream.errored);
    this.#throwFailure();
  }

  #writeErr(text: string): void {
    if (this.#errorsLost) return;
    if (this.#waitingLines) {
      this.#waitingLines.push(text);
      return;
    }
    // Markup is resolved before secrets are searched for, so that it cannot split one.
    this.err.stream.write(this.#secrets.apply(this.#forPeople(text)));
  }

  #forPeople(text: string): string {
    return this.#readsCommands ? withoutCommands(resolveMarkup(text)) : resolveMarkup(text);
  }

  #handleOutFailure(error: NodeJS.ErrnoException): void {
    const failure = outputFailure(error);
    if (failure === undefined) this.#breakController.abort();
    else this.#failure = failure;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure;
  }
}

/** Why stdout cannot be written; undefined when its reader closed the pipe, which is not a failure. */
export function outputFailure(error: NodeJS.ErrnoException): AopsError | undefined {
  if (error.code === 'EPIPE' || error.code === 'EOF' || error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_DESTROYED')
    return undefined;
  return new AopsError(`The output cannot be written: ${error.message}`, {
    code: 'output_failed',
    exit: exitCodes.failure,
    hint: 'Check the disk, or the program that reads the output.',
    cause: error,
  });
}

function waitForDrain(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.errored) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      for (const event of ['drain', 'close', 'error']) stream.removeListener(event, finish);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) stream.once(event, finish);
  });
}

function waitForFinish(stream: Writable): Promise<void> {
  if (stream.errored || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.write('', () => {
      stream.removeListener('close', resolve);
      resolve();
    });
  });
}
