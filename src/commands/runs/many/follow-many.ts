/** Watches several runs without a board: prefixed lines, or NDJSON. Requests are answered from a file, waited for, or left pending. */

import { AopsError, exitCodes } from '../../../base/errors.ts';
import { eventWriter, type WriteEvent } from '../../../cli/following/event-writer.ts';
import { outageNotes } from '../../../cli/following/outage.ts';
import { runRequester } from '../../../cli/following/requester.ts';
import { type FollowOptions, respond, responderHere } from '../../../cli/following/responder.ts';
import { savePosition } from '../../../cli/following/resumption.ts';
import { StreamTokens } from '../../../cli/following/stream-tokens.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { type RowList, wholeList } from '../../../cli/kit/list.ts';
import { ResultError } from '../../../cli/kit/result-error.ts';
import { runForHere, runWord } from '../../../cli/names/run-names.ts';
import type { Notifier } from '../../../cli/notifying/notifier.ts';
import type { Client } from '../../../client/client.ts';
import type { HumanRequest, Run } from '../../../interface/types.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import { EventSequence } from '../../../watch/envelope.ts';
import type { RunEvent } from '../../../watch/events.ts';
import type { RunUpdate } from '../../../watch/many/run-updates.ts';
import { addsNewRuns, type RunSelection, RunsWatch } from '../../../watch/many/watch-runs.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';
import { matchesMessage } from '../../../watch/message-pattern.ts';
import type { RunsPoint } from '../../../watch/resume/token.ts';
import { printsRun } from '../follow.ts';
import { endsOf, RunLabels } from './labels.ts';
import { LineSink } from './line-sink.ts';
import { countsInWords, endsError, type RunEnd } from './outcome.ts';
import type { ManyReading } from './reading.ts';

/**
 * Watches runs until all of them have ended or, with `--on-request fail`, wait for a person.
 * @param reading where to begin, and when to end
 * @throws AopsError with the worst exit code; the signal's reason on Ctrl-C or --timeout
 */
export async function followRuns(
  context: Context,
  selection: RunSelection,
  options: FollowOptions,
  reading: ManyReading,
  notifier: Notifier,
): Promise<RowList<Run> | undefined> {
  const client = await context.client();
  const { clock, signal } = context;
  const watch = new RunsWatch(client, selection, {
    clock,
    signal,
    teamId: context.teamId(),
    messages: true,
    onOutage: outageNotes(context),
    ...(reading.point && { starts: reading.point.runs }),
    // Such a watch can last for weeks.
    forgets: addsNewRuns(selection),
  });
  return new FollowedRuns(context, client, watch, { selection, options, reading, notifier }).follow();
}

interface Settings {
  selection: RunSelection;
  options: FollowOptions;
  reading: ManyReading;
  notifier: Notifier;
}

class FollowedRuns {
  readonly #context: Context;
  readonly #client: Client;
  readonly #watch: RunsWatch;
  readonly #settings: Settings;
  readonly #labels: RunLabels;
  readonly #sequence: EventSequence;
  readonly #errors = new Map<WatchedRun, AopsError>();
  /** Runs that wait for a person, whose requests are left pending here. */
  readonly #waiting = new Set<WatchedRun>();
  #lines: LineSink | undefined;
  #write: WriteEvent | undefined;
  readonly #tokens: StreamTokens;

  constructor(context: Context, client: Client, watch: RunsWatch, settings: Settings) {
    this.#context = context;
    this.#client = client;
    this.#watch = watch;
    this.#settings = settings;
    this.#labels = new RunLabels(context);
    this.#tokens = new StreamTokens(context);
    this.#sequence = new EventSequence(context.clock, settings.reading.point?.seq);
  }

  async follow(): Promise<RowList<Run> | undefined> {
    const { terminal, signal, format } = this.#context;
    const { reading } = this.#settings;
    let failure: unknown;
    if (format !== 'ndjson') this.#lines = await this.#newLines();
    else {
      this.#write = await eventWriter(this.#context);
      if (reading.endsInsideLine) await terminal.line();
    }
    try {
      for await (const update of this.#watch.updates()) {
        if (update.run !== undefined) {
          await this.#show(update);
          const { body } = update;
          if (body.type === 'message' && matchesMessage(reading.until, body.data.message)) return undefined;
          await this.#observe(update);
        } else if (update.body.type === 'runs.read') await this.#answerReported();
        else continue;
        if (this.#isParked) break;
      }
    } catch (error) {
      if (error === signal.reason) terminal.advise(await this.#detached());
      failure = error;
      throw error;
    } finally {
      this.#tokens.close();
      await this.#settings.notifier.end(failure);
    }
    const ends = await this.#ends();
    terminal.note(ends.length === 0 ? 'No runs match.' : countsInWords(ends));
    return this.#result(ends);
  }

  /** Whether every run has ended or waits for a person, and no others are added. */
  get #isParked(): boolean {
    if (addsNewRuns(this.#settings.selection)) return false;
    return [...this.#watch.runs.values()].every((run) => run.isReportedOver || this.#waiting.has(run));
  }

  async #newLines(): Promise<LineSink> {
    const { terminal, clock } = this.#context;
    const toStderr = printsRun(this.#context);
    const write = async (line: string): Promise<void> => (toStderr ? terminal.note(line) : terminal.line(line));
    const styles = await (toStderr ? terminal.err : terminal.out).styles();
    return new LineSink({ write, styles, clock, labelOf: (run) => this.#labels.label(run) });
  }

  async #show({ run, body }: RunUpdate): Promise<void> {
    if (body.type === 'run.lost') {
      this.#errors.set(run, body.error);
      this.#context.terminal.warn(`Run ${runWord(runForHere(this.#context, run))} cannot be watched: ${sanitizeLine(body.error.message)}`);
      return;
    }
    const event = this.#sequence.next<RunEvent>(body, { run_id: run.id }, (seq) => this.#token(run, seq));
    if (this.#lines) await this.#lines.event(run, event);
    else await this.#write?.(event);
    this.#settings.notifier.event(event);
    await savePosition(this.#context.terminal, this.#settings.reading.positions, event.resume);
  }

  /** The token of the position after an event of a run; empty if nobody gets it. */
  #token({ id, position }: WatchedRun, seq: number): string {
    if (this.#lines && this.#settings.reading.positions === undefined) return '';
    return this.#tokens.after(
      this.#watch.count,
      () => this.#point(seq),
      () => ({ stream: 'runs', seq, runs: new Map([[id, position]]) }),
    );
  }

  #point(seq: number): RunsPoint {
    return { stream: 'runs', seq, runs: this.#watch.positions() };
  }

  async #observe({ run, body }: RunUpdate): Promise<void> {
    if (body.type === 'human_request.resolved') this.#waiting.delete(run);
    if (body.type === 'human_request.pending') await this.#answer(run, body.data.human_request);
  }

  /** What was reported as pending before, and still is, is not reported again, but still needs an answer. */
  async #answerReported(): Promise<void> {
    for (const [id, position] of this.#settings.reading.point?.runs ?? []) {
      const run = this.#watch.runs.get(id);
      if (run === undefined || run.isOver || position.request === null || run.state.request?.id !== position.request.id) continue;
      const listed = run.listItem?.pending_human_request;
      const isListed = listed?.id === position.request.id;
      const request = isListed ? listed : (await this.#client.call('getRun', { params: { run_id: id } })).pending_human_request;
      if (request?.id === position.request.id) await this.#answer(run, request);
    }
  }

  async #answer(run: WatchedRun, request: HumanRequest): Promise<void> {
    const requester = runRequester(this.#client, run.id, runForHere(this.#context, { id: run.id, run_number: run.number }));
    try {
      await respond(responderHere(this.#context, this.#settings.options), requester, request, this.#context.signal);
      this.#watch.hurry();
    } catch (error) {
      if (!(error instanceof AopsError) || error.exit !== exitCodes.runWaiting) throw error;
      this.#waiting.add(run);
    }
  }

  async #ends(): Promise<RunEnd[]> {
    const ends = await endsOf(this.#watch.runs.values(), this.#labels, this.#errors);
    const forgotten = [...this.#watch.forgotten.positions()].map(([id, { status }]) => ({ label: id, status: status ?? 'unknown' }));
    return [...forgotten, ...ends];
  }

  async #detached(): Promise<string> {
    const { selection } = this.#settings;
    const back = selection.kind === 'filter' ? '' : ` Come back with: aops runs watch ${this.#names()}`;
    return `Detached. ${countsInWords(await this.#ends())}.${back}`;
  }

  #names(): string {
    return [...this.#watch.runs.values()]
      .map((run) => runWord(runForHere(this.#context, { id: run.id, run_number: run.number })))
      .join(' ');
  }

  /** @throws AopsError with the worst exit code of the runs */
  #result(ends: readonly RunEnd[]): RowList<Run> | undefined {
    const rows = printsRun(this.#context) ? wholeList([...this.#watch.runs.values()].flatMap(({ run }) => run ?? [])) : undefined;
    const error = endsError(ends);
    if (error === undefined) return rows;
    throw rows === undefined ? error : new ResultError(error, rows);
  }
}
