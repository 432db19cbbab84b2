/**
 * One execution of a run by a runtime: what the runtime sees of the run, and the only way in which it can write. Every write is
 * one transaction, which first makes sure that this execution still owns the run.
 */
import { createRedactor, noRedaction } from '../../../base/redaction.ts';
import type {
  AgentSession,
  CaseAction,
  HumanAnswer,
  MemoryWrite,
  Outcome,
  RunCase,
  RunEnd,
  RunHost,
  RuntimeEvent,
} from '../../runtimes/runtime.ts';
import { type ExecLevel, type Launcher, launchAfter } from '../../sandbox/launch.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HumanRequestRow, RunRow, RunsTable } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { type Claim, releaseJob } from '../../store/jobs/jobs.ts';
import { findAgentSession, storeAgentSession } from '../../store/runs/agent-sessions.ts';
import { type ExecutedRun, type HeldRun, heldRun } from '../../store/runs/held-runs.ts';
import { turnAnswers } from '../../store/runs/human-requests.ts';
import { completedSteps, recordStep } from '../../store/runs/journal.ts';
import { appendMessages, postedTexts } from '../../store/runs/messages.ts';
import { changeReadRun } from '../../store/runs/runs.ts';
import { carryOut, caseOfRun } from '../cases/run-actions.ts';
import { type CaseEnd, caseRunAsked, caseRunEnded } from '../cases/run-end.ts';
import { runConnections } from '../connections/run-connections.ts';
import type { ConnectionUser } from '../connections/use.ts';
import type { HasBackups, HasFiles, HasRunPolicy } from '../engine.ts';
import { recordPushes } from '../push/record.ts';
import { planReminder } from '../requests/reminders.ts';
import { storeRequest } from '../requests/store-request.ts';
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

type RunChanges = Partial<Pick<RunsTable, 'exec_level' | 'status' | 'error' | 'completed_at' | 'turn' | 'resume_count' | 'updated_at'>>;

/** The parts of the engine that an execution uses. */
export type SessionEngine = ConnectionUser & HasFiles & HasRunPolicy & HasBackups;

export interface SessionParts {
  engine: SessionEngine;
  claim: Claim;
  run: ExecutedRun;
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
  readonly #row: ExecutedRun;
  /** The run as the transaction in progress, or the last one, has found it. */
  #held: HeldRun;
  #execLevel: RunRow['exec_level'];
  #memory: Map<string, string> | undefined;
  /** Number of the last message that the runtime can see. */
  #lastSeenSeq = 0;
  readonly #secrets = new Map<string, string>();
  #redactor = noRedaction;
  /** Whether the end of the run was recorded together with a step. */
  #hasEnded = false;
  /** Whether the worker has to be woken after the commit, because there are webhooks to deliver or cases to dispatch. */
  #shouldWake = false;

  constructor(parts: SessionParts) {
    this.#engine = parts.engine;
    this.#claim = parts.claim;
    this.#row = parts.run;
    this.#held = { ...parts.run, last_message: null };
    this.#execLevel = parts.run.exec_level;
    this.run = { id: parts.run.id, teamId: parts.run.team_id, number: parts.run.run_number, agentName: parts.run.agent_name };
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

  /** The name of the runtime that executes the run. */
  get runtime(): string {
    return this.#row.runtime;
  }

  /** Whether the sandbox contains, or is to contain, a repository. */
  get hasRepository(): boolean {
    return Boolean(this.#row.has_repository);
  }

  /** Reads what earlier executions wrote. */
  async load(): Promise<void> {
    const { store } = this.#engine;
    const { id, turn, has_steps, has_requests, has_session } = this.#row;
    if (has_steps) for (const [step, result] of await completedSteps(store, id, turn)) this.journal.set(step, result);
    if (has_requests) for (const [step, answer] of await turnAnswers(store, id, turn)) this.#answers.set(step, answer);
    this.case = await caseOfRun(store, this.#row);
    if (has_session) this.agentSession = await findAgentSession(store, id);
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

  async commit(step: string, rawResult: unknown, events: RuntimeEvent[] = [], memory?: MemoryWrite, end?: RunEnd): Promise<void> {
    const { id: runId, turn } = this.#row;
    const result = this.#redactor.value(rawResult);
    let newContent: string | undefined;
    await this.#record(events, async (trx, now) => {
      await recordStep(trx, { runId, turn, step }, result, now);
      if (memory !== undefined) newContent = await remember(trx, this.#row, memory, now);
      if (end === undefined) return;
      // The runtime has seen everything that was sent before its last step was recorded.
      await this.#readMessages(trx);
      await this.#finishIn(trx, this.#redactor.value(end), now);
    });
    this.#hasEnded = end !== undefined;
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

  /** Records how the execution ended, and releases the job. If the end was recorded with the last step, nothing is left to do. */
  async finish(rawOutcome: Outcome): Promise<void> {
    if (this.#hasEnded) return;
    const outcome = this.#redactor.value(rawOutcome);
    await this.#write((trx, now) => this.#finishIn(trx, outcome, now));
  }

  async #finishIn(trx: Queries, outcome: Outcome, now: string): Promise<void> {
    switch (outcome.status) {
      case 'completed':
        if (this.#hasUnseenMessage()) return this.#beginNextTurn(trx, now);
        return this.#end(trx, 'run.completed', { status: 'completed', completed_at: now, updated_at: now }, { outcome: 'completed' });
      case 'failed': {
        const { error } = outcome;
        const changes = { status: 'failed' as const, error, completed_at: now, updated_at: now };
        return this.#end(trx, 'run.failed', changes, { outcome: 'failed', reason: error });
      }
      case 'waiting':
        await this.#pause(trx, await storeRequest(trx, this.#row, outcome, now), now);
        return void (await releaseJob(trx, this.#claim, { status: 'parked' }));
      case 'sleeping':
        return void (await releaseJob(trx, this.#claim, { status: 'queued', dueAt: outcome.until }));
    }
  }

  async #end(trx: Queries, kind: 'run.completed' | 'run.failed', changes: RunChanges, end: CaseEnd): Promise<void> {
    const run = await this.#change(trx, changes);
    await this.#outbox(trx, run, [runEvent(trx, kind, run)]);
    await caseRunEnded(this.#engine, trx, this.#row, end);
    await planEvaluation(this.#engine, trx, run);
    await releaseJob(trx, this.#claim, { status: 'done' });
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

  /** Records events for webhooks, in the transaction of the change that they report. */
  async #outbox(trx: Queries, run: RunRow, events: NewEvent[]): Promise<void> {
    if (events.length > 0 && (await recordRunEvents(this.#engine.clock, trx, run, events))) this.#shouldWake = true;
  }

  /** Whether a message came too late for this turn; it counts as sent after it. */
  #hasUnseenMessage(): boolean {
    return (this.#held.last_posted ?? 0) > this.#lastSeenSeq;
  }

  async #beginNextTurn(trx: Queries, now: string): Promise<void> {
    await this.#change(trx, { status: 'pending', turn: this.#row.turn + 1, resume_count: this.#row.resume_count + 1, updated_at: now });
    await releaseJob(trx, this.#claim, { status: 'queued', dueAt: this.#engine.clock.now() });
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
        const newMessages = await appendMessages(trx, this.#row.id, messages, this.#held.last_message ?? 0);
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
      const run = await heldRun(trx, this.#claim);
      if (run === undefined || !(writableStatuses as readonly string[]).includes(run.status)) throw new RunLostError();
      this.#held = run;
      await change(trx, isoTime(this.#engine.clock.now()));
    });
  }

  async #change(trx: Queries, changes: RunChanges): Promise<RunRow> {
    const run = await changeReadRun(trx, this.#held, changes);
    if (run === undefined) throw new RunLostError();
    this.#held = run;
    return run;
  }

  async #readMessages(db: Queries): Promise<void> {
    if (!this.#hasUnseenMessage()) return;
    for (const { seq, text } of await postedTexts(db, this.#row.id, this.#lastSeenSeq)) {
      this.userMessages.push(text);
      this.#lastSeenSeq = seq;
    }
  }
}
