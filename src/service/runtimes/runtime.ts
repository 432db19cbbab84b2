/**
 * The contract between the engine and what executes an agent. The engine owns the run, its messages, its human
 * requests and the step journal; a runtime advances a run from its last completed step until it ends, has to wait
 * for a person, or sleeps. It may be called again at any time, after a crash too, and must then skip what is journalled.
 */
import type { Clock } from '../../base/clock.ts';
import type { CasePriority, HumanQuestion, NewCase } from '../../interface/types.ts';
import type { Browsing } from '../browser/chromium.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Outcome as RequestOutcome } from '../words/outcome.ts';

/** What a runtime makes visible. Ids are unique within the run's turn; an id seen before is not stored twice. */
export type RuntimeEvent =
  | { kind: 'text'; id: string; text: string }
  | { kind: 'tool_call'; id: string; name: string; arguments?: Record<string, unknown> }
  /** `screenshot` is the event of a picture that the call took, recorded at the same time: its file is named in the result. */
  | { kind: 'tool_result'; id: string; callId: string; result?: unknown; error?: string; screenshot?: string }
  /** A tool call of which pictures were taken. `url` and `title` in `input` say which page they show. */
  | {
      kind: 'screenshot';
      id: string;
      toolName: string;
      action?: string;
      startedAt: Date;
      /** When it is recorded, unless given. */
      endedAt?: Date;
      input?: Record<string, unknown>;
      /** What it failed with. */
      error?: string;
      before?: RunPicture;
      /** After it. */
      image?: RunPicture;
    };

/** A picture that becomes a run file. */
export interface RunImage {
  name: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** A new picture, or that of another screenshot event of the turn: its id stands for the picture after, with `:before` for the one before. */
export type RunPicture = RunImage | { of: string };

/** A human request as a runtime asks it. */
export interface HumanRequestDraft {
  type: 'approval' | 'question';
  title: string;
  description?: string;
  questions?: HumanQuestion[];
}

/** The answer to a human request: a decision, or an answer for each question text. */
export type HumanAnswer =
  | { type: 'approval'; approved: boolean; reason?: string }
  | { type: 'question'; answers: Record<string, string | string[]> };

export type Outcome =
  | { status: 'completed' }
  | { status: 'failed'; error: string }
  /** `step` is the journal key that will look for the answer. */
  | { status: 'waiting'; step: string; request: HumanRequestDraft }
  /** `until` in milliseconds since the epoch. */
  | { status: 'sleeping'; until: number };

/** A memory file as a step writes it. */
export interface MemoryWrite {
  /** Relative, with slashes. */
  path: string;
  content: string;
  /** Adds to what is there, on a line of its own. */
  append: boolean;
}

/** What a tool of a connection answered. */
export interface ConnectionAnswer {
  /** As the protocol has it, without binary data. */
  content: Record<string, unknown>[];
  structured: unknown;
  /** The texts among the content. */
  text: string;
  /** Why the call failed: what the tool said, or what is wrong with the connection. */
  error: string | null;
}

/** A connection of the run's team. */
export interface RunConnection {
  readonly name: string;
  /** Calls a tool. Rejects only with the signal's reason. @param timeoutMs for everything together */
  call(tool: string, args: Record<string, unknown>, options: { timeoutMs: number; signal: AbortSignal }): Promise<ConnectionAnswer>;
}

export interface RunConnections {
  /** Throws a ServiceError 404 when there is none, 409 when several have the name. */
  open(idOrName: string): Promise<RunConnection>;
}

/** The case that a run works on. */
export interface RunCase {
  id: string;
  title: string;
  data: string;
  priority: CasePriority;
  labels: readonly { key: string; value: string }[];
  /** Name of its queue. */
  queue: string;
  /** ISO 8601. */
  createdAt: string;
}

/** What a run does with its case, or with a new one. */
export type CaseAction =
  | { do: 'complete'; reason?: string }
  | { do: 'fail'; reason: string }
  /** The case goes back into its queue; `until` in milliseconds since the epoch. */
  | { do: 'postpone'; until: number; reason?: string }
  /** `queue` and `agent` are names; the agent alone may take the case, and must be a handover target of the revision. */
  | { do: 'create'; queue: string; draft: NewCase; agent?: string };

/** What a runtime is given to advance one run. */
export interface RunHost {
  readonly run: { id: string; teamId: string; number: number; agentName: string };
  /** The revision's procedure, as text. */
  readonly procedure: string;
  /** Texts that people posted to the run, oldest first; the first is the one it was started with, if any. */
  readonly userMessages: readonly string[];
  /** Undefined for a run without a case, or one whose case is gone. */
  readonly case?: RunCase | undefined;
  readonly sandbox: Sandbox;
  /**
   * How often the service ended without being stopped since this run last completed a step: the step that comes now was being done
   * each time, and may be what ends it.
   */
  readonly interruptions: number;
  /** Whether commands may be executed, and how. */
  readonly exec: 'host' | 'off';
  /** Whether and with what pages may be browsed. */
  readonly browsing: Browsing;
  readonly connections: RunConnections;
  readonly clock: Clock;
  /** Aborted when the run is stopped or this worker has lost it. */
  readonly signal: AbortSignal;
  /** Results of the completed steps of this turn, by journal key. */
  readonly journal: ReadonlyMap<string, unknown>;
  /** The answer to the human request that the step asked, once there is one. */
  answer(step: string): HumanAnswer | undefined;
  /** What the agent remembers, by path; what `commit` writes is in it at once. Empty when its memory is turned off. */
  memory(): Promise<ReadonlyMap<string, string>>;
  /** Makes events visible at once, before their step has completed. */
  emit(events: RuntimeEvent[]): Promise<void>;
  /**
   * Records that a step has completed, with its result, its events and what it remembers, in one transaction. Throws when the run was
   * stopped or lost, and a ServiceError when the memory cannot be written; then nothing is.
   */
  commit(step: string, result: unknown, events?: RuntimeEvent[], remember?: MemoryWrite): Promise<void>;
  /**
   * Does something with a case and journals what came of it, in one transaction. Throws a ServiceError when it cannot be done:
   * the run has no case or lost it, there is no such queue or agent.
   */
  act(step: string, action: CaseAction): Promise<unknown>;
}

/** Something that the agents of a runtime can use, for the plugin catalogue. */
export interface RuntimePart {
  name: string;
  /** `step` of a procedure, or `tool` that a model may call. */
  type: 'step' | 'tool';
  description: string;
  /** Of no use where runs may not execute commands. */
  needsExec?: boolean;
}

/** A request to change a procedure, with what has been answered so far. */
export interface BuildRequest {
  /** Null for a revision that has none yet. */
  procedure: string | null;
  prompt: string;
  /** By the question's text; several chosen options joined with commas. */
  answers: Readonly<Record<string, string>>;
  exec: 'host' | 'off';
  /** Whether the service can open pages in a browser. */
  browsing: boolean;
  /** Names and ids of the team's connections. */
  connections: readonly string[];
}

/** Something outside the procedure that the proposal needs. */
export interface SetupChange {
  type: 'exec' | 'file' | 'secret' | 'connection' | 'browser' | 'schedule';
  name: string;
  title: string;
  description: string;
  /** Whether it is so here already. */
  satisfied: boolean;
  /** For a schedule: the fields of one. */
  schedule?: { frequency: string; time: string | null; day: string | null; day_of_month: number | null };
}

export type BuildOutcome = RequestOutcome<{
  status: 'proposed';
  procedure: string;
  changes: string[];
  setupChanges: SetupChange[];
  scheduleSuggested: boolean;
}>;

/** Proposes changed procedures. It can be called again at any time, and the same request must then have the same outcome. */
export interface Builder {
  /** @param enter called with each phase that begins; throws when the build was discarded or lost */
  build(request: BuildRequest, enter: (phase: string) => Promise<void>): Promise<BuildOutcome>;
}

/** A connection as a procedure names it. */
export interface NamedConnection {
  /** Name or id. */
  name: string;
  /** Whether every run of it ends in failure without that connection. */
  needed: boolean;
}

export interface Runtime {
  /** The word in `models.agent.model` that selects it. */
  readonly name: string;
  /** What it does with a procedure, in a sentence. */
  readonly description?: string;
  readonly parts?: readonly RuntimePart[];
  /** Throws a ServiceError 400 `invalid_procedure` whose details name line and column. */
  validate(procedure: string): void;
  advance(host: RunHost): Promise<Outcome>;
  /** Names of the queues that a procedure adds cases to, as far as they can be told without executing it. */
  queuesOf?(procedure: string): string[];
  /** The connections that a procedure uses, as far as they can be told without executing it. */
  connectionsOf?(procedure: string): NamedConnection[];
  /** Figures for the workflow execution report. */
  countSteps(procedure: string): number;
  /** Changes procedures of this runtime by request; absent when nothing here can. */
  readonly builder?: Builder;
}
