/** Watches a run to its end: its events go to a sink, and its human requests to a responder that works in parallel. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { eventWriter } from '../../cli/following/event-writer.ts';
import { reportsToGitHub, reportToGitHub } from '../../cli/following/github-report.ts';
import { outageNotes } from '../../cli/following/outage.ts';
import { RequestAnswerer } from '../../cli/following/request-answerer.ts';
import { runRequester } from '../../cli/following/requester.ts';
import { type FollowOptions, responderHere } from '../../cli/following/responder.ts';
import { savePosition } from '../../cli/following/resumption.ts';
import { outcomeError } from '../../cli/following/run-outcome.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import type { Context } from '../../cli/kit/context.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { ResolvedRun } from '../../cli/names/resolve-run.ts';
import { type NamedRun, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import type { Notifier } from '../../cli/notifying/notifier.ts';
import { Transcript } from '../../cli/records/transcript.ts';
import type { Run } from '../../interface/types.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Styles } from '../../terminal/style.ts';
import { widthFor, wrapWords } from '../../terminal/width.ts';
import type { RunEvent } from '../../watch/events.ts';
import { matchesMessage } from '../../watch/message-pattern.ts';
import type { Outage } from '../../watch/outage-tracker.ts';
import { Pace } from '../../watch/pace.ts';
import { watchRun } from '../../watch/watch-run.ts';
import { readRun } from './read.ts';
import { type Reading, wholeRun } from './reading.ts';
import { NdjsonSink, type OnPrinted, type Sink, TranscriptSink } from './sinks.ts';

/** How watching a run ended. */
export interface FollowedRun {
  run: Run;
  /** Whether a message matched --until; the run might continue. */
  isMatched: boolean;
}

/** Watches a run from its beginning until it has ended, and returns it. @throws like `readEvents` */
export const followRun = async (context: Context, namedRun: NamedRun, options: FollowOptions, notifier?: Notifier): Promise<Run> =>
  (await readEvents(context, namedRun, options, wholeRun, notifier)).run;

/**
 * Watches a run until it has ended or a message matches.
 * @throws AopsError exit 12 when it waits for an answer that cannot be given here, with the run if it is printed; the signal's reason on Ctrl-C or --timeout
 */
export async function readEvents(
  context: Context,
  namedRun: NamedRun,
  options: FollowOptions,
  { start, pendingRequest, finishedRun, positions, endsInsideLine, until }: Reading,
  notifier?: Notifier,
): Promise<FollowedRun> {
  if (finishedRun) return { run: finishedRun, isMatched: false };
  const runId = namedRun.id;
  const requestedRun = runForHere(context, namedRun);
  const client = await context.client();
  const sink = await newSink(
    context,
    options.onRequest === 'prompt',
    positions && (({ resume }) => savePosition(context.terminal, positions, resume)),
  );
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const pace = new Pace(context.clock);
  const answerer = new RequestAnswerer(responderHere(context, options), runRequester(client, runId, requestedRun), {
    sink,
    streamController: stop,
    pace,
  });
  let failure: unknown;
  try {
    const note = outageNotes(context);
    const onOutage = (outage: Outage | undefined): unknown => {
      sink.outage(outage);
      return note(outage);
    };
    if (endsInsideLine) await context.terminal.data('\n');
    if (pendingRequest) answerer.startAnswer(pendingRequest);
    const watchOptions = { clock: context.clock, signal, pace, onOutage, waitsIndefinitely: answerer.isBusy };
    for await (const event of watchRun(client, runId, watchOptions, start)) {
      await sink.event(event);
      notifier?.event(event);
      await observe(answerer, event);
      if (event.type === 'run.finished') return { run: event.data.run, isMatched: false };
      if (event.type === 'message' && matchesMessage(until, event.data.message)) {
        await answerer.end();
        return { run: await readRun(client, runId), isMatched: true };
      }
    }
    throw new Error('the stream of events ended before the run');
  } catch (error) {
    failure = error;
    if (error === context.signal.reason || error instanceof PromptCancelled)
      context.terminal.advise(
        `Detached. The run ${answerer.isOpen ? 'is waiting for an answer' : 'continues'}. Come back with: aops runs watch ${runWord(requestedRun)}`,
      );
    const needsRun = isWaiting(error) && (printsRun(context) || reportsToGitHub(context));
    if (!needsRun) throw error;
    const run = await readRun(client, runId).catch(() => undefined);
    if (run) reportToGitHub(context, run, error);
    if (!printsRun(context)) throw error;
    throw run === undefined ? error : new ResultError(error, run);
  } finally {
    await answerer.end();
    sink.close();
    await notifier?.end(failure);
  }
}

/** Prints which run is watched: its number and title for people, as far as they are known, and its ID in logs. */
export function announce(context: Context, run: ResolvedRun): void {
  const { format, terminal } = context;
  if (format === 'ndjson') return;
  const { listItem } = run;
  const title = listItem && terminal.err.isTTY ? `  ${sanitizeLine(listItem.agent_name)}: ${sanitizeLine(listItem.title)}` : '';
  terminal.note(`Run ${runTitle(runForHere(context, run))}${title}`);
}

/** Whether the run itself is printed to stdout as the result; the transcript then goes to stderr. */
export const printsRun = (context: Context): boolean => context.format !== 'ndjson' && !forPeople(context);

/** A failure after the run has ended, with the run if it is printed. */
export const failedAfter = (context: Context, run: Run, error: AopsError): AopsError =>
  printsRun(context) ? new ResultError(error, run) : error;

/** The result of a command that watched a run. @throws AopsError for the outcome, unless the run completed */
export function resultOf(context: Context, run: Run): Run | undefined {
  const error = outcomeError(run, runForHere(context, run));
  reportToGitHub(context, run, error);
  if (error) throw failedAfter(context, run, error);
  return printsRun(context) ? run : undefined;
}

/** Passes the events about requests to the responder. */
async function observe(answerer: RequestAnswerer, event: RunEvent): Promise<void> {
  if (event.type === 'human_request.resolved') await answerer.endAnswer(event.data.resolution === 'answered');
  if (event.type === 'run.finished') await answerer.end();
  if (event.type === 'human_request.pending') answerer.startAnswer(event.data.human_request);
}

const isWaiting = (error: unknown): error is AopsError => error instanceof AopsError && error.exit === exitCodes.runWaiting;

async function newSink(context: Context, prompts: boolean, onPrinted: OnPrinted | undefined): Promise<Sink> {
  const { terminal, clock, format } = context;
  if (format === 'ndjson') return new NdjsonSink(await eventWriter(context), onPrinted);
  const toStderr = printsRun(context);
  const output = toStderr ? terminal.err : terminal.out;
  const [{ statusLine }, styles] = await Promise.all([import('../../terminal/progress.ts'), output.styles()]);
  const transcript = output.isTTY ? await wrappedTranscript(styles, output.columns) : new Transcript(styles, Number.MAX_SAFE_INTEGER);
  const write = async (line: string): Promise<void> => (toStderr ? terminal.note(line) : terminal.line(line));
  return new TranscriptSink(write, transcript, styles, clock, await statusLine(terminal), prompts, onPrinted);
}

/** A transcript whose texts are wrapped for a terminal. */
export async function wrappedTranscript(styles: Styles, columns: number): Promise<Transcript> {
  // The text is not known yet, so all characters must be supported.
  const widthOf = await widthFor(['ä']);
  // Leaves space for the sign in front of answers and of messages from the user.
  const width = Math.max(20, columns - 6);
  return new Transcript(styles, columns, (text) =>
    text
      .split('\n')
      .flatMap((line) => wrapWords(line, width, widthOf))
      .join('\n'),
  );
}
