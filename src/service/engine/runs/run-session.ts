/**
 * One execution of a run by a runtime: what the runtime sees of the run, and the only way in which it can write. Every write is
 * one transaction, which first makes sure that this execution still owns the run.
 */
import { createRedactor, noRedaction } from '../../../base/redaction.ts';
import { newId } from '../../ids.ts';
import type {
  AgentSession,
  CaseAction,
  HumanAnswer,
  MemoryWrite,
  Outcome,
  RunCase,
  RunHost,
  RuntimeEvent,
} from '../../runtimes/runtime.ts';
import { type ExecLevel, type Launcher, launchAfter } from '../../sandbox/launch.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HumanRequestRow, RunRow, RunsTable } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { type Claim, holdsJob, releaseJob } from '../../store/jobs/jobs.ts';
import { findAgentSession, storeAgentSession } from '../../store/runs/agent-sessions.ts';
import { insertHumanRequest, turnAnswers } from '../../store/runs/human-requests.ts';
import { completedSteps, recordStep } from '../../store/runs/journal.ts';
import { appendMessages, postedTexts } from '../../store/runs/messages.ts';
import { changeRun, runById } from '../../store/runs/runs.ts';
import { carryOut, caseOfRun } from '../cases/run-actions.ts';
import { caseRunAsked, caseRunEnded } from '../cases/run-end.ts';
import { runConnections } from '../connections/run-connections.ts';
import type { ConnectionUser } from '../connections/use.ts';
import type { HasBackups, HasFiles, HasRunPolicy } from '../engine.ts';
import { recordPushes } from '../push/record.ts';
import { planReminder } from '../requests/reminders.ts';
import { readMemory, remember } from '../revision/memory.ts';
import { agentSecrets } from '../revision/secrets.ts';
import type { NewEvent } from '../webhooks/events.ts';
import { askedEvent, fileEvent, messageEvents, recordRunEvents, runEvent } from '../webhooks/run-events.ts';
import { planEvaluation } from './evaluations.ts';
import { eventMessage } from './messages.ts';
import { insertExecutions, isScreenshot, namingPicture, removePictures, storePictures } from './pictures.ts';
import { runTools } from './run-tools.ts';
import { transcriptOf } from './transcript.ts';

/** The run was stopped, or another worker has taken it over: nothing may be written any more. */
export class RunLostError extends Error {
  constructor() {
    super('The run is no longer executed here.');
    this.name = 'RunLostError';
  }
}

/** Statuses in which a driver may write. */
const writableStatuses = ['pending', 'starting', 'running'] as const;

/** The parts of the engine that an execution uses. */
export type SessionEngine = ConnectionUser & HasFiles & HasRunPolicy & HasBackups;

export interface SessionParts {
  engine: SessionEngine;
  claim: Claim;
  run: RunRow;
  agentName: string;
  procedure: string;
  sandbox: Sandbox;
  interruptions: number;
  signal: AbortSignal;
}

export class RunSession implements RunHost {
  readonly run: RunHost['run'];
  readonly procedure: string;
  readonly sandbox: Sandbox;
  readonly interruptions: number;
  readonly launcher: Launcher;
  readonly browsing: RunHost['browsing'];
  readonly connections: RunHost['connections'];
  readonly tools: RunHost['tools'];
  readonly clock: RunHost['clock'];
  readonly signal: AbortSignal;
  readonly userMessages: string[] = [];
  readonly journal = new Map<string, unknown>();
  case: RunCase | undefined;
  agentSession: AgentSession | undefined;
  readonly #answers = new Map<string, HumanAnswer>();
  readonly #engine: SessionEngine;
  readonly #claim: Claim;
  readonly #row: RunRow;
  #execLevel: RunRow['exec_level'];
  #memory: Map<string, string> | undefined;
  /** Number of the last message that the runtime can see. */
  #lastSeenSeq = 0;
  readonly #secrets = new Map<string, string>();
  #redactor = noRedaction;
  /** Whether the worker has to be woken after the commit, because there are webhooks to deliver or cases to dispatch. */
  #shouldWake = false;

  constructor(parts: SessionParts) {
    this.#engine = parts.engine;
    this.#claim = parts.claim;
    this.#row = parts.run;
    this.#execLevel = parts.run.exec_level;
    this.run = { id: parts.run.id, teamId: parts.run.team_id, number: parts.run.run_number, agentName: parts.agentName };
    this.procedure = parts.procedure;
    this.sandbox = parts.sandbox;
    this.interruptions = parts.interruptions;
    this.launcher = launchAfter(parts.engine.containment, (level) => this.#recordLevel(level));
    this.browsing = parts.engine.browsing;
    this.connections = runConnections(parts.engine, parts.run);
    this.tools = runTools({
      engine: parts.engine,
      row: parts.run,
      record: (notice, alsoWrite) => this.#record([{ kind: 'notice', ...notice }], alsoWrite),
      redact: (value) => this.#redactor.value(value),
      onEntry: (step, entry) => this.journal.set(step, JSON.parse(JSON.stringify(entry))),
    });
    this.clock = parts.engine.clock;
    this.signal = parts.signal;
  }

  /** Reads what earlier executions wrote. */
  async load(): Promise<void> {
    const { store } = this.#engine;
    for (const [step, result] of await completedSteps(store, this.#row.id, this.#row.turn)) this.journal.set(step, result);
    for (const [step, answer] of await turnAnswers(store, this.#row.id, this.#row.turn)) this.#answers.set(step, answer);
    this.case = await caseOfRun(store, this.#row);
    this.agentSession = await findAgentSession(store, this.#row.id);
    await this.#readMessages(store);
  }

  answer(step: string): HumanAnswer | undefined {
    return this.#answers.get(step);
  }

  async emit(events: RuntimeEvent[]): Promise<void> {
    await this.#record(events, async () => undefined);
  }

  async memory(): Promise<ReadonlyMap<string, string>> {
    this.#memory ??= await readMemory(this.#engine.store, this.#row);
    return this.#memory;
  }

  async commit(step: string, rawResult: unknown, events: RuntimeEvent[] = [], memory?: MemoryWrite): Promise<void> {
    const { id: runId, turn } = this.#row;
    const result = this.#redactor.value(rawResult);
    let newContent: string | undefined;
    await this.#record(events, async (trx, now) => {
      await recordStep(trx, { runId, turn, step }, result, now);
      if (memory !== undefined) newContent = await remember(trx, this.#row, memory, now);
    });
    if (memory !== undefined && newContent !== undefined) this.#memory?.set(memory.path, newContent);
    // The value as it will be read after a restart, so that both cases behave alike.
    if (!this.journal.has(step)) this.journal.set(step, JSON.parse(JSON.stringify(result ?? null)));
  }

  async saveAgentSession(newSession: AgentSession, events: RuntimeEvent[] = []): Promise<void> {
    const session = this.#redactor.value(newSession);
    await this.#record(events, (trx, now) => storeAgentSession(trx, this.#row.id, session, now));
    this.agentSession = session;
  }

  async secrets(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const secrets = await agentSecrets(this.#engine, this.#row.agent_id, names);
    this.redact(secrets);
    return secrets;
  }

  redact(secrets: ReadonlyMap<string, string>): void {
    for (const [name, value] of secrets) this.#secrets.set(name, value);
    this.#redactor = createRedactor(this.#secrets);
  }

  transcript(): Promise<string> {
    return transcriptOf(this.#engine.store, this.#row.id);
  }

  async act(step: string, action: CaseAction): Promise<unknown> {
    const { id: runId, turn } = this.#row;
    let result: unknown;
    await this.#write(async (trx, now) => {
      result = await carryOut(this.#engine, trx, this.#row, action);
      await recordStep(trx, { runId, turn, step }, result, now);
      this.#shouldWake = true;
    });
    if (!this.journal.has(step)) this.journal.set(step, result);
    return result;
  }

  /** Records how the execution ended, and releases the job. */
  async finish(rawOutcome: Outcome): Promise<void> {
    const outcome = this.#redactor.value(rawOutcome);
    await this.#write(async (trx, now) => {
      const doneState = { status: 'done' as const };
      switch (outcome.status) {
        case 'completed':
          if (await this.#hasUnseenMessage(trx)) return this.#beginNextTurn(trx, now);
          await this.#recordEnd(trx, 'run.completed', await this.#change(trx, { status: 'completed', completed_at: now, updated_at: now }));
          await caseRunEnded(this.#engine, trx, this.#row, { outcome: 'completed' });
          await planEvaluation(this.#engine, trx, this.#row);
          return void (await releaseJob(trx, this.#claim, doneState));
        case 'failed':
          await this.#recordEnd(
            trx,
            'run.failed',
            await this.#change(trx, { status: 'failed', error: outcome.error, completed_at: now, updated_at: now }),
          );
          await caseRunEnded(this.#engine, trx, this.#row, { outcome: 'failed', reason: outcome.error });
          await planEvaluation(this.#engine, trx, this.#row);
          return void (await releaseJob(trx, this.#claim, doneState));
        case 'waiting':
          await this.#pause(trx, await this.#ask(trx, outcome, now), now);
          return void (await releaseJob(trx, this.#claim, { status: 'parked' }));
        case 'sleeping':
          return void (await releaseJob(trx, this.#claim, { status: 'queued', dueAt: outcome.until }));
      }
    });
  }

  /** The weakest level counts. Recorded before the program starts, so that it is never overstated. */
  async #recordLevel(level: ExecLevel): Promise<void> {
    if (level === 'off' || this.#execLevel === level || this.#execLevel === 'host') return;
    await this.#write(async (trx) => void (await this.#change(trx, { exec_level: level })));
    this.#execLevel = level;
  }

  async #pause(trx: Queries, request: HumanRequestRow, now: string): Promise<void> {
    const run = await this.#change(trx, { status: 'waiting', updated_at: now });
    await planReminder(trx, run.team_id, request, this.#engine.clock.now());
    await this.#outbox(trx, run, [runEvent(trx, 'run.paused', run), askedEvent(run, request)]);
    if (await recordPushes(this.#engine.clock, trx, run.team_id, request.id)) this.#shouldWake = true;
    await caseRunAsked(this.#engine, trx, run, request);
  }

  #recordEnd(trx: Queries, kind: 'run.completed' | 'run.failed', run: RunRow): Promise<void> {
    return this.#outbox(trx, run, [runEvent(trx, kind, run)]);
  }

  /** Records events for webhooks, in the transaction of the change that they report. */
  async #outbox(trx: Queries, run: RunRow, events: NewEvent[]): Promise<void> {
    if (events.length > 0 && (await recordRunEvents(this.#engine.clock, trx, run, events))) this.#shouldWake = true;
  }

  /** Whether a message came too late for this turn; it counts as sent after it. */
  async #hasUnseenMessage(trx: Queries): Promise<boolean> {
    return (await postedTexts(trx, this.#row.id, this.#lastSeenSeq)).length > 0;
  }

  async #beginNextTurn(trx: Queries, now: string): Promise<void> {
    await this.#change(trx, { status: 'pending', turn: this.#row.turn + 1, resume_count: this.#row.resume_count + 1, updated_at: now });
    await releaseJob(trx, this.#claim, { status: 'queued', dueAt: this.#engine.clock.now() });
  }

  async #ask(trx: Queries, { step, request }: Extract<Outcome, { status: 'waiting' }>, now: string): Promise<HumanRequestRow> {
    return insertHumanRequest(trx, {
      id: newId(),
      run_id: this.#row.id,
      turn: this.#row.turn,
      step,
      type: request.type,
      title: request.title,
      description: request.description ?? null,
      questions: request.questions === undefined ? null : JSON.stringify(request.questions),
      status: 'pending',
      answer: null,
      response: null,
      responded_at: null,
      remind_at: null,
      reminded_at: null,
      created_at: now,
    });
  }

  async #record(rawEvents: RuntimeEvent[], alsoWrite: (trx: Queries, now: string) => Promise<void>): Promise<void> {
    const { files: disk } = this.#engine;
    const events = this.#redactor.value(rawEvents);
    const screenshots = events.filter(isScreenshot);
    const pictures = await storePictures(disk, this.#row, screenshots);
    try {
      await this.#write(async (trx, now) => {
        const messages = events.flatMap((event) =>
          isScreenshot(event) ? [] : [eventMessage(this.#row, namingPicture(event, pictures), now)],
        );
        const newMessages = await appendMessages(trx, this.#row.id, messages);
        const { recordedPictures, duplicates } = await insertExecutions(trx, this.#row, screenshots, pictures, now);
        await removePictures(disk, duplicates);
        const files = recordedPictures.map((file) => fileEvent(this.#row, file));
        await this.#outbox(trx, this.#row, [...messageEvents(trx, this.#row, newMessages), ...files]);
        await alsoWrite(trx, now);
        await this.#readMessages(trx);
      });
    } catch (error) {
      await removePictures(disk, pictures);
      throw error;
    }
  }

  /** Writes within a transaction that fails with RunLostError if this execution no longer owns the run. */
  async #write(change: (trx: Queries, now: string) => Promise<void>): Promise<void> {
    if (this.signal.aborted) throw new RunLostError();
    await this.#engine.backups.runs.run(this.signal, () => this.#writeNow(change));
    // Whatever the run of a case does might free capacity for the next case.
    if (this.#shouldWake || this.#row.case_id !== null) this.#engine.worker.wake();
    this.#shouldWake = false;
  }

  async #writeNow(change: (trx: Queries, now: string) => Promise<void>): Promise<void> {
    await this.#engine.store.transaction().execute(async (trx) => {
      const run = (await holdsJob(trx, this.#claim)) ? await runById(trx, this.#row.id) : undefined;
      if (run === undefined || !(writableStatuses as readonly string[]).includes(run.status)) throw new RunLostError();
      await change(trx, isoTime(this.#engine.clock.now()));
    });
  }

  async #change(
    trx: Queries,
    changes: Partial<Pick<RunsTable, 'exec_level' | 'status' | 'error' | 'completed_at' | 'turn' | 'resume_count' | 'updated_at'>>,
  ): Promise<RunRow> {
    const run = await changeRun(trx, this.#row.id, writableStatuses, changes);
    if (run === undefined) throw new RunLostError();
    return run;
  }

  async #readMessages(db: Queries): Promise<void> {
    for (const { seq, text } of await postedTexts(db, this.#row.id, this.#lastSeenSeq)) {
      this.userMessages.push(text);
      this.#lastSeenSeq = seq;
    }
  }
}
