/** Following a run to its end: its events to a sink, its human requests to a responder that works beside the stream. */
import { UsageError } from '../../base/errors.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import type { Styles } from '../../terminal/style.ts';
import { type AnswersFile, parseAnswersFile } from '../../watch/answers.ts';
import type { RunEvent } from '../../watch/events.ts';
import { Pace } from '../../watch/pace.ts';
import { watchRun } from '../../watch/watch-run.ts';
import { readText } from '../body.ts';
import type { Context } from '../context.ts';
import { choice, text } from '../define.ts';
import { ResultError } from '../result-error.ts';
import { outcomeError, waitingError } from './outcome.ts';
import { LeftPending, type OnRequest, type ResponderOptions, respond } from './responder.ts';
import { NdjsonSink, type Sink, TranscriptSink } from './sinks.ts';
import { Transcript } from './transcript.ts';

export const followFlags = {
  onRequest: choice(
    ['prompt', 'wait', 'fail'],
    'When the run asks a person: ask here, wait for an answer from elsewhere, or end with exit 12 (default: prompt on a terminal, else fail)',
  ),
  answers: text('FILE', 'Answer human requests from this file first', { complete: 'files' }),
} as const;

export interface FollowOptions {
  onRequest: OnRequest;
  answers: AnswersFile | undefined;
}

/** Reads the flags before anything is started, so that a bad answers file changes nothing. @throws UsageError */
export async function followOptions(
  context: Context,
  input: { onRequest?: OnRequest | undefined; answers?: string | undefined },
): Promise<FollowOptions> {
  if (input.onRequest === 'prompt' && !context.terminal.interactive)
    throw new UsageError('Nobody can be asked here: this is no terminal.', 'Use --answers FILE, or --on-request wait or fail.');
  const onRequest = input.onRequest ?? (context.terminal.interactive ? 'prompt' : 'fail');
  return {
    onRequest,
    answers: input.answers === undefined ? undefined : await parseAnswersFile(await readText(context, input.answers), input.answers),
  };
}

/**
 * Follows a run until it has ended and returns it.
 * @throws AopsError exit 12 when it waits for a person and nobody may be asked; the signal's reason on Ctrl-C or --timeout
 */
export async function followRun(context: Context, runId: string, options: FollowOptions): Promise<Run> {
  const client = await context.client();
  const sink = await newSink(context);
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const responder: ResponderOptions = {
    client,
    prompter: context.prompter,
    editor: Boolean(context.env.VISUAL || context.env.EDITOR),
    ...options,
    note: (line) => context.terminal.note(line),
  };
  const pace = new Pace(context.clock);
  const asking = new Asking(responder, { sink, runId, stop, pace });
  try {
    for await (const event of watchRun(client, runId, { clock: context.clock, signal, pace })) {
      await sink.event(event);
      await asking.observe(event);
      if (event.type === 'run.finished') return event.data.run;
    }
    throw new Error('the stream of events ended before the run');
  } catch (error) {
    if (error === context.signal.reason) detached(context, runId);
    throw error instanceof PromptCancelled ? detached(context, runId, error) : error;
  } finally {
    await asking.end();
    sink.close();
  }
}

/** Whether the run itself is the result on stdout; the transcript then goes to stderr, out of its way. */
const printsRun = ({ format, flags }: Context): boolean =>
  format !== 'ndjson' && (format !== 'table' || flags.fields !== undefined || flags.jq !== undefined);

/** What a command that followed a run prints at the end. @throws AopsError for the outcome, unless the run completed */
export function followed(context: Context, run: Run): Run | undefined {
  const error = outcomeError(run);
  if (error) throw printsRun(context) ? new ResultError(error, run) : error;
  return printsRun(context) ? run : undefined;
}

interface AskingParts {
  sink: Sink;
  runId: string;
  /** Ends the stream, with the reason as its error. */
  stop: AbortController;
  pace: Pace;
}

/** The answering of one request at a time, beside the stream. Its failure ends the stream. */
class Asking {
  readonly #options: ResponderOptions;
  readonly #parts: AskingParts;
  #withdraw = new AbortController();
  /** The stream says that the open request was answered. */
  #answered = false;
  #current: Promise<void> = Promise.resolve();

  constructor(options: ResponderOptions, parts: AskingParts) {
    this.#options = options;
    this.#parts = parts;
  }

  async observe(event: RunEvent): Promise<void> {
    if (event.type === 'human_request.resolved') this.#answered = event.data.resolution === 'answered';
    if (event.type === 'human_request.resolved' || event.type === 'run.finished') await this.end();
    if (event.type === 'human_request.pending') this.#current = this.#answer(event.data.human_request);
  }

  /** Withdraws an open prompt and waits until it has left the screen. */
  async end(): Promise<void> {
    this.#withdraw.abort();
    await this.#current;
  }

  async #answer(request: HumanRequest): Promise<void> {
    const { sink, runId, stop, pace } = this.#parts;
    const prompts = this.#options.onRequest === 'prompt';
    this.#withdraw = new AbortController();
    if (prompts) sink.hold();
    this.#answered = false;
    let answeredHere = false;
    try {
      answeredHere = await respond(this.#options, runId, request, this.#withdraw.signal);
    } catch (error) {
      stop.abort(error instanceof LeftPending ? waitingError(runId, request) : error);
    }
    // Said before what the run did with that answer.
    if (prompts && this.#answered && !answeredHere) this.#options.note('Somebody else answered.');
    if (prompts) await sink.resume(answeredHere);
    pace.hurry();
  }
}

/** Says how to come back. The run itself goes on. */
function detached(context: Context, runId: string, error?: unknown): unknown {
  context.terminal.note(`Detached; the run goes on. Re-attach with: aops runs watch ${runId}`);
  return error;
}

async function newSink(context: Context): Promise<Sink> {
  const { terminal, clock, format } = context;
  if (format === 'ndjson') return new NdjsonSink(terminal);
  const aside = printsRun(context);
  const side = aside ? terminal.err : terminal.out;
  const [{ statusLine }, styles] = await Promise.all([import('../../terminal/progress.ts'), side.styles()]);
  const transcript = side.isTTY ? await wrappedTranscript(styles, side.columns) : new Transcript(styles, Number.MAX_SAFE_INTEGER);
  const write = async (line: string): Promise<void> => (aside ? terminal.note(line) : terminal.line(line));
  return new TranscriptSink(write, transcript, styles, clock, await statusLine(terminal));
}

async function wrappedTranscript(styles: Styles, columns: number): Promise<Transcript> {
  const { default: wrapAnsi } = await import('wrap-ansi');
  // Room for the sign in front of answers and of what the user said.
  const width = Math.max(20, columns - 6);
  return new Transcript(styles, columns, (text) => wrapAnsi(text, width, { hard: true, trim: false }));
}
