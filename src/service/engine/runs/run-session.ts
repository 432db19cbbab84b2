/** One execution of a run by a runtime: what the runtime sees of the run, and the only way in which it can write. */
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
} from '../../runtimes/run-host.ts';
import { type ExecLevel, type Launcher, launchAfter } from '../../sandbox/launch.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Queries } from '../../store/database/database.ts';
import type { MessageRow, NewMessage, RunRow } from '../../store/database/schema.ts';
import type { Claim } from '../../store/jobs/jobs.ts';
import { findAgentSession, storeAgentSession } from '../../store/runs/agent-sessions.ts';
import type { ExecutedRun } from '../../store/runs/held-runs.ts';
import { turnAnswers } from '../../store/runs/human-requests.ts';
import { completedSteps, recordStep } from '../../store/runs/journal.ts';
import { appendMessages, postedTexts, sendMessage } from '../../store/runs/messages.ts';
import { runFileKey } from '../../store/runs/run-files.ts';
import { carryOut, caseOfRun } from '../cases/run-actions.ts';
import { runConnections } from '../connections/run-connections.ts';
import type { ConnectionUser } from '../connections/use.ts';
import type { HasBackups, HasFiles, HasRunPolicy } from '../engine.ts';
import { discardFiles } from '../files/stored-files.ts';
import { readMemory, remember } from '../revision/memory.ts';
import { agentSecrets } from '../revision/secrets.ts';
import type { RunWorkspace } from '../run-workspaces.ts';
import { fileEvent, messageEvents } from '../webhooks/run-events.ts';
import { eventMessage } from './messages.ts';
import { insertExecutions, isScreenshot, namingPicture, storePictures } from './pictures.ts';
import { recordOutcome } from './run-outcome.ts';
import { type Change, RunRecord } from './run-record.ts';
import { runTools } from './run-tools.ts';
import { transcriptOf } from './transcript.ts';

/** The parts of the engine that an execution uses. */
export type SessionEngine = ConnectionUser & HasFiles & HasRunPolicy & HasBackups;

export interface SessionParts {
  engine: SessionEngine;
  claim: Claim;
  run: ExecutedRun;
  procedure: string;
  workspace: RunWorkspace;
  interruptions: number;
  signal: AbortSignal;
}

export class RunSession implements RunHost {
  readonly run: RunHost['run'];
  readonly procedure: string;
  readonly sandbox: Sandbox;
  readonly workspace: RunWorkspace;
  readonly interruptions: number;
  readonly launcher: Launcher;
  readonly browsing: RunHost['browsing'];
  readonly connections: RunHost['connections'];
  readonly tools: RunHost['tools'];
  readonly clock: RunHost['clock'];
  readonly signal: AbortSignal;
  readonly journal = new Map<string, unknown>();
  case: RunCase | undefined;
  agentSession: AgentSession | undefined;
  readonly #answers = new Map<string, HumanAnswer>();
  readonly #engine: SessionEngine;
  readonly #row: ExecutedRun;
  readonly #record: RunRecord;
  #execLevel: RunRow['exec_level'];
  #memory: Map<string, string> | undefined;
  readonly #userMessages: string[] = [];
  readonly answeringMessages = new Set<number>();
  /** Number of the last message that the runtime can see, and of the last one that it has read. */
  #lastSeenSeq = 0;
  #lastReadSeq = 0;
  readonly #secrets = new Map<string, string>();
  #redactor = noRedaction;
  /** Whether the end of the run was recorded together with a step. */
  #hasEnded = false;

  constructor(parts: SessionParts) {
    this.#engine = parts.engine;
    this.#row = parts.run;
    this.#record = new RunRecord(parts);
    this.#execLevel = parts.run.exec_level;
    this.run = { id: parts.run.id, teamId: parts.run.team_id, number: parts.run.run_number, agentName: parts.run.agent_name };
    this.procedure = parts.procedure;
    this.workspace = parts.workspace;
    this.sandbox = parts.workspace.sandbox;
    this.interruptions = parts.interruptions;
    this.launcher = launchAfter(parts.engine.containment, (level) => this.#recordLevel(level));
    this.browsing = parts.engine.browsing;
    this.connections = runConnections(parts.engine, parts.run);
    this.tools = runTools({
      engine: parts.engine,
      row: parts.run,
      record: (notice, alsoWrite) => this.#append([{ kind: 'notice', ...notice }], alsoWrite),
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

  get userMessages(): readonly string[] {
    this.#lastReadSeq = this.#lastSeenSeq;
    return this.#userMessages;
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
    // The turn begins with these messages, whether or not it reads them.
    if (!has_steps) this.#lastReadSeq = this.#lastSeenSeq;
  }

  answer(step: string): HumanAnswer | undefined {
    return this.#answers.get(step);
  }

  async emit(events: RuntimeEvent[]): Promise<void> {
    await this.#append(events);
  }

  async memory(): Promise<ReadonlyMap<string, string>> {
    this.#memory ??= await readMemory(this.#engine.store, this.#row);
    return this.#memory;
  }

  async commit(step: string, rawResult: unknown, events: RuntimeEvent[] = [], memory?: MemoryWrite, end?: RunEnd): Promise<void> {
    const { id: runId, turn } = this.#row;
    const result = this.#redactor.value(rawResult);
    let newContent: string | undefined;
    await this.#append(events, async (trx, now) => {
      await recordStep(trx, { runId, turn, step }, result, now);
      if (memory !== undefined) newContent = await remember(trx, this.#row, memory, now);
      if (end !== undefined) await this.#recordOutcome(trx, this.#redactor.value(end), now);
    });
    this.#hasEnded = end !== undefined;
    if (memory !== undefined && newContent !== undefined) this.#memory?.set(memory.path, newContent);
    // The value as it will be read after a restart, so that both cases behave alike.
    if (!this.journal.has(step)) this.journal.set(step, JSON.parse(JSON.stringify(result ?? null)));
  }

  async saveAgentSession(newSession: AgentSession, events: RuntimeEvent[] = []): Promise<void> {
    const session = this.#redactor.value(newSession);
    await this.#append(events, (trx, now) => storeAgentSession(trx, this.#row.id, session, now));
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

  /** Records the files that have changed, and what `write` writes, in one transaction. */
  async recordFiles(write: (trx: Queries) => Promise<void>): Promise<void> {
    await this.#record.writeStep(write);
  }

  transcript(): Promise<string> {
    return transcriptOf(this.#engine.store, this.#row.id);
  }

  async act(step: string, action: CaseAction): Promise<unknown> {
    const { id: runId, turn } = this.#row;
    let result: unknown;
    await this.#record.writeStep(async (trx, now) => {
      result = await carryOut(this.#engine, trx, this.#row, action);
      await recordStep(trx, { runId, turn, step }, result, now);
      this.#record.wakeAfterCommit();
    });
    if (!this.journal.has(step)) this.journal.set(step, result);
    return result;
  }

  /** Records how the execution ended, and releases the job. If the end was recorded with the last step, nothing is left to do. */
  async finish(rawOutcome: Outcome): Promise<void> {
    if (this.#hasEnded) return;
    const outcome = this.#redactor.value(rawOutcome);
    // A human request gets a number of the team.
    const locksTeam = outcome.status === 'waiting';
    await this.#record.writeStep((trx, now) => this.#recordOutcome(trx, outcome, now), { locksTeam });
  }

  async #recordOutcome(trx: Queries, outcome: Outcome, now: string): Promise<void> {
    await this.#recordReading(trx);
    await recordOutcome(trx, { engine: this.#engine, record: this.#record, run: this.#row }, outcome, now);
  }

  /** The weakest level counts. Recorded before the program starts, so that it is never overstated. */
  async #recordLevel(level: ExecLevel): Promise<void> {
    if (level === 'off' || this.#execLevel === level || this.#execLevel === 'host') return;
    await this.#record.write(async (trx) => void (await this.#record.change(trx, { exec_level: level })));
    this.#execLevel = level;
  }

  /** Records that the runtime has read the last message, together with a step that may depend on it. */
  async #recordReading(trx: Queries): Promise<void> {
    const { unread_message: unread } = this.#record.held;
    if (unread !== null && unread <= this.#lastReadSeq) await this.#record.change(trx, { unread_message: null });
  }

  /** @param alsoWrite what is recorded about a step, together with the files that it has changed */
  async #append(rawEvents: RuntimeEvent[], alsoWrite?: Change): Promise<void> {
    const events = this.#redactor.value(rawEvents);
    const screenshots = events.filter(isScreenshot);
    const pictures = await storePictures(this.#engine, this.#row, screenshots);
    let recordedIds: ReadonlySet<string>;
    try {
      const write: Change = async (trx, now) => {
        const messages = events.flatMap((event) =>
          isScreenshot(event) ? [] : [eventMessage(this.#row, namingPicture(event, pictures), now)],
        );
        const newMessages = await this.#appendMessages(trx, messages);
        const recordedPictures = await insertExecutions(trx, this.#row, screenshots, pictures, now);
        const files = recordedPictures.map((file) => fileEvent(this.#row, file));
        await this.#record.report(trx, this.#row, [...messageEvents(trx, this.#row, newMessages), ...files]);
        if (alsoWrite !== undefined) await this.#recordReading(trx);
        await alsoWrite?.(trx, now);
        await this.#readMessages(trx);
        recordedIds = new Set(recordedPictures.map(({ id }) => id));
      };
      await (alsoWrite === undefined ? this.#record.write(write) : this.#record.writeStep(write));
    } catch (error) {
      await discardFiles(this.#engine, pictures.map(runFileKey));
      throw error;
    }
    // Pictures of screenshots that an interrupted attempt has recorded already.
    await discardFiles(this.#engine, pictures.filter(({ id }) => !recordedIds.has(id)).map(runFileKey));
  }

  /** Returns the messages that are new, unless nobody receives events of the run. */
  async #appendMessages(trx: Queries, messages: readonly NewMessage[]): Promise<MessageRow[]> {
    const last = this.#record.held.last_message ?? 0;
    const [message] = messages;
    if (message === undefined || messages.length > 1 || this.#record.hasRecipients)
      return appendMessages(trx, this.#row.id, messages, last);
    await sendMessage(trx, message, last);
    return [];
  }

  async #readMessages(db: Queries): Promise<void> {
    if ((this.#record.held.last_posted ?? 0) <= this.#lastSeenSeq) return;
    for (const { seq, text, isAnswer } of await postedTexts(db, this.#row.id, this.#lastSeenSeq)) {
      if (isAnswer) this.answeringMessages.add(this.#userMessages.length);
      this.#userMessages.push(text);
      this.#lastSeenSeq = seq;
    }
  }
}
