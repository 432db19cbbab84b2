/** A live board of runs on the terminal, on which a person opens transcripts, answers requests, and stops runs. */
import { AopsError } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { runWord } from '../../../cli/names/run-names.ts';
import type { Notifier } from '../../../cli/notifying/notifier.ts';
import type { Transcript } from '../../../cli/records/transcript.ts';
import type { Client } from '../../../client/client.ts';
import { FullScreen } from '../../../terminal/full-screen.ts';
import { PromptCancelled } from '../../../terminal/prompts.ts';
import type { Styles } from '../../../terminal/style.ts';
import { type WidthOf, widthFor } from '../../../terminal/width.ts';
import { EventSequence } from '../../../watch/envelope.ts';
import type { RunEvent } from '../../../watch/events.ts';
import type { RunUpdate } from '../../../watch/many/run-updates.ts';
import { addsNewRuns, type RunSelection, RunsWatch } from '../../../watch/many/watch-runs.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';
import { watchRun } from '../../../watch/watch-run.ts';
import { wrappedTranscript } from '../follow.ts';
import { endsOf, RunLabels } from '../many/labels.ts';
import { countsInWords, endsError } from '../many/outcome.ts';
import { DetailLoader, type Details } from './details.ts';
import {
  type BoardAction,
  type BoardRow,
  type BoardState,
  emptyBoard,
  press,
  visibleRows,
  withRows,
  withSelection,
  withTranscriptLines,
} from './model.ts';
import { answerRun, stopRun } from './prompts.ts';
import { boardLines, pageRows, summaryLine } from './screen.ts';

/** Changes that follow one another faster are drawn together; in milliseconds. */
const drawingGap = 100;
/** How often the ages are updated, in milliseconds. */
const tickMs = 1_000;
/** Why the board was left, if the person pressed `q`. */
const leftByKey = 'left';
/** The most runs whose outcome is printed at the end. */
const maxSummaryLines = 20;

/** Shows the board until the person leaves, or all of the named runs have ended. @throws AopsError with the worst exit code of the runs that have ended */
export async function showBoard(context: Context, selection: RunSelection, notifier: Notifier): Promise<undefined> {
  const client = await context.client();
  const [styles, widthOf] = await Promise.all([context.terminal.err.styles(), widthFor(['ä'])]);
  let failure: unknown;
  try {
    await new Board(context, client, selection, { styles, widthOf, notifier }).show();
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await notifier.end(failure);
  }
  return undefined;
}

interface BoardParts {
  styles: Styles;
  widthOf: WidthOf;
  notifier: Notifier;
}

class Board {
  readonly #context: Context;
  readonly #client: Client;
  readonly #parts: BoardParts;
  readonly #sequence: EventSequence;
  readonly #selection: RunSelection;
  readonly #watch: RunsWatch;
  readonly #labels: RunLabels;
  readonly #screen: FullScreen;
  readonly #details: DetailLoader;
  readonly #knownDetails = new Map<string, Details>();
  readonly #rows = new Map<string, BoardRow>();
  readonly #errors = new Map<WatchedRun, AopsError>();
  /** Aborted when the person leaves, with the reason if it is an error. */
  readonly #leave = new AbortController();
  #state: BoardState;
  #transcript: AbortController | undefined;
  /** What the person is doing outside of the board. */
  #work: Promise<void> | undefined;
  #drawTimer: NodeJS.Timeout | undefined;
  /** Whether runs have been on the screen for a moment. */
  #isSettled = false;

  constructor(context: Context, client: Client, selection: RunSelection, parts: BoardParts) {
    this.#context = context;
    this.#client = client;
    this.#parts = parts;
    this.#sequence = new EventSequence(context.clock);
    this.#selection = selection;
    const { clock, signal } = context;
    this.#state = emptyBoard(addsNewRuns(selection));
    this.#labels = new RunLabels(context);
    this.#watch = new RunsWatch(client, selection, {
      clock,
      signal: AbortSignal.any([signal, this.#leave.signal]),
      teamId: context.teamId(),
      messages: false,
      onOutage: (outage) => this.#set({ outageSince: outage?.since }),
      // Somebody is looking at the board, and may be writing an answer.
      waitsIndefinitely: () => true,
    });
    this.#screen = new FullScreen(context.terminal, clock, {
      onKey: (key) => this.#guard(() => this.#press(key)),
      onResize: () => this.#guard(() => this.#draw()),
      onCancel: () => this.#leave.abort(new PromptCancelled()),
    });
    this.#details = new DetailLoader(
      context,
      client,
      () => this.#visibleRuns(),
      (run, details) => {
        const known = this.#knownDetails.get(run.id);
        this.#knownDetails.set(run.id, { step: details.step ?? known?.step, cost: details.cost ?? known?.cost });
        this.#updateRow(run).catch(this.#fail);
      },
    );
  }

  async show(): Promise<void> {
    const { signal, clock } = this.#context;
    const end = new AbortController();
    const background = AbortSignal.any([signal, this.#leave.signal, end.signal]);
    try {
      await this.#screen.open(this.#lines());
      const tick = async (): Promise<void> => {
        for (;;) {
          await clock.sleep(tickMs, background);
          this.#isSettled = this.#state.rows.length > 0;
          this.#draw();
        }
      };
      tick().catch((error: unknown) => background.aborted || this.#fail(error));
      this.#details.follow(background).catch(() => undefined);
      await this.#follow();
    } catch (error) {
      // A prompt that is open is withdrawn.
      this.#leave.abort(error);
      const { reason } = this.#leave.signal;
      // A person who leaves with `q` has not cancelled anything.
      if (reason !== leftByKey) throw reason;
    } finally {
      end.abort();
      this.#transcript?.abort();
      await this.#work;
      clearTimeout(this.#drawTimer);
      this.#screen.close();
      await this.#summarize();
    }
    const over = [...this.#watch.runs.values()].filter(({ isReportedOver }) => isReportedOver);
    const error = endsError(await endsOf(over, this.#labels, this.#errors));
    if (error) throw error;
  }

  /** Shows what happens until all runs have ended and the person looks at the list of runs. */
  async #follow(): Promise<void> {
    for await (const update of this.#watch.updates()) if (update.run !== undefined) await this.#observe(update);
    this.#set({ isLoading: false });
    await this.#work;
    while (this.#state.transcript !== undefined || this.#state.showsHelp) {
      await this.#context.clock.sleep(drawingGap, AbortSignal.any([this.#context.signal, this.#leave.signal]));
      await this.#work;
    }
  }

  async #observe({ run, body }: RunUpdate): Promise<void> {
    if (body.type === 'run.lost') this.#errors.set(run, body.error);
    else this.#parts.notifier.event(this.#sequence.next<RunEvent>(body, { run_id: run.id }));
    await this.#updateRow(run);
  }

  async #updateRow(run: WatchedRun): Promise<void> {
    const agent = (await this.#labels.agent(run)) ?? '';
    this.#rows.set(run.id, rowOf(run, agent, this.#knownDetails.get(run.id), this.#errors.get(run)));
    this.#state = withRows(this.#state, [...this.#rows.values()]);
    this.#drawSoon();
  }

  /** The runs on the screen, the selected one first. */
  #visibleRuns(): WatchedRun[] {
    const { selectedId } = this.#state;
    const rows = visibleRows(this.#state);
    const index = Math.max(
      0,
      rows.findIndex(({ id }) => id === selectedId),
    );
    const height = pageRows(this.#screen.size);
    const near = rows.slice(Math.max(0, index - height), index + height);
    return near.flatMap(({ id }) => this.#watch.runs.get(id) ?? []);
  }

  #lines(): string[] {
    const { err } = this.#context.terminal;
    return boardLines(this.#state, {
      ...this.#screen.size,
      styles: this.#parts.styles,
      widthOf: this.#parts.widthOf,
      unicode: err.unicode,
      now: this.#context.clock.now(),
    });
  }

  #draw(): void {
    // At first, runs arrive one after another. Once they were shown for a moment, the highlighted one stays highlighted.
    if (this.#state.selectedId === undefined && this.#isSettled) this.#state = withSelection(this.#state);
    this.#screen.draw(this.#lines());
  }

  #drawSoon(): void {
    this.#drawTimer ??= setTimeout(() => {
      this.#drawTimer = undefined;
      this.#guard(() => this.#draw());
    }, drawingGap);
  }

  /** Ends the board with an error: the terminal is restored first, so that the message can be read. */
  readonly #fail = (error: unknown): void => this.#leave.abort(error);

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(error);
    }
  }

  #set(change: Partial<BoardState>): void {
    this.#state = { ...this.#state, ...change };
    this.#drawSoon();
  }

  #press(key: string): void {
    if (this.#work !== undefined) return;
    const { state, action } = press(withSelection(this.#state), key, pageRows(this.#screen.size));
    this.#state = state;
    if (state.transcript === undefined) this.#transcript?.abort();
    if (action !== undefined) this.#act(action);
    this.#draw();
  }

  #act(action: BoardAction): void {
    if (action.type === 'leave') {
      this.#leave.abort(leftByKey);
      return;
    }
    const run = this.#watch.runs.get(action.id);
    if (run === undefined) return;
    if (action.type === 'open') return void this.#openTranscript(run).catch(this.#fail);
    const prompt = action.type === 'answer' ? answerRun : stopRun;
    const { signal } = this.#context;
    const parts = { context: this.#context, client: this.#client, run, row: this.#rows.get(run.id) };
    this.#work = prompt({ ...parts, leaveScreen: () => this.#screen.close(), end: AbortSignal.any([signal, this.#leave.signal]) })
      .then((notice) => this.#set({ notice }))
      .catch((error: unknown) => {
        if (error instanceof AopsError && !(error instanceof PromptCancelled)) this.#set({ notice: error.message });
        else this.#fail(error);
      })
      .finally(async () => {
        this.#work = undefined;
        if (!this.#leave.signal.aborted && !this.#context.signal.aborted && !this.#screen.isOpen) await this.#screen.open(this.#lines());
        this.#watch.hurry();
      })
      .catch(this.#fail);
  }

  async #openTranscript(run: WatchedRun): Promise<void> {
    const controller = new AbortController();
    this.#transcript?.abort();
    this.#transcript = controller;
    this.#set({ transcript: { id: run.id, lines: [], below: 0 } });
    const { clock, signal } = this.#context;
    const transcript: Transcript = await wrappedTranscript(this.#parts.styles, this.#screen.size.columns);
    const options = { clock, signal: AbortSignal.any([signal, this.#leave.signal, controller.signal]), waitsIndefinitely: () => true };
    try {
      for await (const event of watchRun(this.#client, run.id, options)) {
        if (event.type === 'message') this.#addLines(run, transcript.lines(event.data.message));
        if (event.type === 'run.finished') this.#addLines(run, transcript.unfinishedCalls());
      }
    } catch (error) {
      if (!options.signal.aborted) this.#set({ notice: (error as Error).message });
    }
  }

  #addLines(run: WatchedRun, lines: readonly string[]): void {
    this.#state = withTranscriptLines(
      this.#state,
      run.id,
      lines.flatMap((line) => line.split('\n')),
    );
    this.#drawSoon();
  }

  /** What remains on the normal screen. */
  async #summarize(): Promise<void> {
    const { terminal } = this.#context;
    const rows = this.#state.rows;
    for (const row of rows.slice(0, maxSummaryLines)) terminal.note(summaryLine(row));
    const runs = [...this.#watch.runs.values()];
    const words = runs.length === 0 ? 'No runs match.' : countsInWords(await endsOf(runs, this.#labels, this.#errors));
    const openRuns = runs.filter(({ isReportedOver }) => !isReportedOver);
    const back =
      this.#selection.kind === 'named' && openRuns.length > 0
        ? ` Come back with: aops runs watch ${runs.map((run) => runWord({ id: run.id, run_number: run.number })).join(' ')}`
        : '';
    terminal.advise(`${openRuns.length > 0 ? 'Detached. ' : ''}${words}${back === '' ? '' : `.${back}`}`);
  }
}

/** The row of a run. Pure. */
export function rowOf(run: WatchedRun, agent: string, details: Details | undefined, error: AopsError | undefined): BoardRow {
  const current = run.run;
  const status = run.state.status ?? current?.status ?? 'unknown';
  const request = run.state.request ?? undefined;
  const time = run.isOver
    ? current?.completed_at
    : status === 'waiting'
      ? (request?.created_at ?? current?.updated_at)
      : (current?.started_at ?? current?.created_at);
  const since = time == null ? Number.NaN : Date.parse(time);
  return {
    id: run.id,
    name: run.number ? `#${run.number}` : run.id,
    agent,
    title: run.listItem?.title ?? '',
    status: error === undefined ? status : 'unreadable',
    since: Number.isNaN(since) ? undefined : since,
    step: details?.step,
    cost: details?.cost,
    request: request?.title,
    problem: error?.message ?? (run.isOver ? (current?.error ?? undefined) : undefined),
    isOver: run.isOver,
  };
}
