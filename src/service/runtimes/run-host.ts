/**
 * What a runtime gets to advance a run, and what it reports: the engine owns the run, its messages, its human requests, and the step
 * journal.
 */
import type { Clock } from '../../base/clock.ts';
import type { ArtifactStatus, CasePriority, HumanQuestion, NewCase } from '../../interface/types.ts';
import type { BrowserOptions } from '../browser/chromium.ts';
import type { Launcher } from '../sandbox/launch.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** What a runtime makes visible. IDs are unique within the run's turn; an event with an existing ID is not stored again. */
export type RuntimeEvent =
  | { kind: 'text'; id: string; text: string }
  /** What an agent thinks, the list of what it is going to do, and what the runtime reports about it. */
  | { kind: 'thought' | 'plan' | 'notice'; id: string; text: string }
  | { kind: 'tool_call'; id: string; name: string; arguments?: Record<string, unknown> }
  /** `screenshot` is the event of a picture that the call took, recorded at the same time; the result contains its file. */
  | { kind: 'tool_result'; id: string; callId: string; result?: unknown; error?: string; screenshot?: string }
  /** A tool call with pictures. `url` and `title` in `input` identify the page that they show. */
  | {
      kind: 'screenshot';
      id: string;
      toolName: string;
      action?: string;
      startedAt: Date;
      /** The time of recording by default. */
      endedAt?: Date;
      input?: Record<string, unknown>;
      /** The error, if it failed. */
      error?: string;
      before?: RunPicture;
      /** The picture after the call. */
      image?: RunPicture;
    };

/** A picture that becomes a run file. */
export interface RunImage {
  name: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** A new picture, or one of another screenshot event of the turn: its ID refers to the picture after it, with `:before` to the one before it. */
export type RunPicture = RunImage | { of: string };

/** A human request of a runtime. */
export interface HumanRequestDraft {
  type: 'approval' | 'question';
  title: string;
  description?: string;
  questions?: HumanQuestion[];
}

/** The answer to a human request: a decision, or an answer for each question by its text. */
export type HumanAnswer =
  | { type: 'approval'; approved: boolean; reason?: string }
  | { type: 'question'; answers: Record<string, string | string[]> };

export type Outcome =
  | { status: 'completed' }
  | { status: 'failed'; error: string }
  /** `step` is the journal key under which the answer is looked up. */
  | { status: 'waiting'; step: string; request: HumanRequestDraft }
  /** `until` in milliseconds since the epoch. */
  | { status: 'sleeping'; until: number };

/** An outcome after which the run is not continued by itself. */
export type RunEnd = Extract<Outcome, { status: 'completed' | 'failed' }>;

/** A memory file as a step writes it. */
export interface MemoryWrite {
  /** Relative, with slashes. */
  path: string;
  content: string;
  /** Whether to append to an existing file, on a new line. */
  append: boolean;
}

/** The result of a tool of a connection. */
export interface ConnectionAnswer {
  /** In the form of the protocol, without binary data. */
  content: Record<string, unknown>[];
  structured: unknown;
  /** The texts of the content. */
  text: string;
  /** Why the call failed: the error of the tool or of the connection. */
  error: string | null;
}

/** A connection of the run's team. */
export interface RunConnection {
  readonly name: string;
  /** Calls a tool. Rejects only with the signal's reason. @param timeoutMs for the whole call */
  call(tool: string, args: Record<string, unknown>, options: { timeoutMs: number; signal: AbortSignal }): Promise<ConnectionAnswer>;
}

export interface RunConnections {
  /** Throws a ServiceError 404 when there is no such connection, 409 when several have that name. */
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

/** What a run does with its case, or a new case that it creates. */
export type CaseAction =
  | { do: 'complete'; reason?: string }
  | { do: 'fail'; reason: string }
  /** The case goes back into its queue; `until` in milliseconds since the epoch. */
  | { do: 'postpone'; until: number; reason?: string }
  /** `queue` and `agent` are names; only that agent can take the case, and it must be a handover target of the revision. */
  | { do: 'create'; queue: string; draft: NewCase; agent?: string };

/** What a tool that an agent calls does for its run. */
export type ToolAction =
  | CaseAction
  | { do: 'remember'; write: MemoryWrite }
  | { do: 'create_artifact'; message: string }
  /** `id` of an artifact that a run of the same agent created. A message replaces a generation that waits for an answer. */
  | { do: 'change_artifact'; id: string; message: string };

/** A call of a tool, as the journal records it together with its result. */
export interface ToolUse {
  tool: string;
  /** Equal for calls of the same tool with the same arguments. */
  fingerprint: string;
  /** Which process of the agent has called it. */
  process: string;
}

/** An artifact, without the data that its page shows. */
export interface RunArtifact {
  id: string;
  title: string | null;
  status: ArtifactStatus;
  /** What the generator replied last: what it changed, or why it failed. */
  reply: string | null;
  /** What it wants to know before it continues. */
  questions: string[];
}

/** What the tools of an agent can do with its run. */
export interface RunTools {
  /** The current state of the case; undefined for a run without a case, or whose case was deleted. */
  currentCase(): Promise<RunCase | undefined>;
  /** The memory files of the agent by path; empty if its memory is turned off. */
  memory(): Promise<ReadonlyMap<string, string>>;
  /** An artifact that a run of the same agent created. Throws a ServiceError 404 for any other. */
  artifact(id: string): Promise<RunArtifact>;
  /**
   * Performs an action, and journals it under the step with its result, in one transaction with a notice for people. Throws a ServiceError
   * when the action is impossible; then nothing is recorded.
   */
  perform(step: string, use: ToolUse, action: ToolAction, notice: string): Promise<Record<string, unknown>>;
}

/** What a run's agent works with from turn to turn, and what the run records about it. */
export interface AgentSession {
  /** As the agent reports them. */
  name: string;
  version: string;
  /** The mode that it works in; null if it has no modes. */
  mode: string | null;
  /** Whether it asks a person before it acts in that mode, or decides by itself. Null if it does not say. */
  asks: boolean | null;
  /** ID of its session. */
  sessionId: string;
  /** How many of the messages that people sent to the run it was prompted with. */
  promptedMessages: number;
  usage: AgentUsage | null;
}

/** What an agent reports about its consumption so far. */
export interface AgentUsage {
  /** Tokens of the context that are in use, and its size. */
  contextTokens: number;
  contextSize: number;
  /** Null if the agent does not report it. */
  cost: { amount: number; currency: string } | null;
}

/** What a runtime gets to advance a run. */
export interface RunHost {
  readonly run: { id: string; teamId: string; number: number; agentName: string };
  /** The procedure of the revision, as text. */
  readonly procedure: string;
  /**
   * Messages that people sent to the run, oldest first; the first is the one with which it was started, if any. Others are added with
   * each write. One that is sent while the turn is in progress and that nothing has read by its end begins another turn.
   */
  readonly userMessages: readonly string[];
  /** The indexes of those that answered human requests. */
  readonly answeringMessages: ReadonlySet<number>;
  /** Undefined for a run without a case, or whose case was deleted. */
  readonly case?: RunCase | undefined;
  readonly sandbox: Sandbox;
  /**
   * How many times the service has died since this run last completed a step. The next step was running each time, and might be
   * the cause.
   */
  readonly interruptions: number;
  /** Starts the programs of the run, confined as far as this service demonstrated. The run records the level. */
  readonly launcher: Launcher;
  /** Whether pages can be opened, and with which browser. */
  readonly browsing: BrowserOptions;
  readonly connections: RunConnections;
  /** For an agent that calls tools. */
  readonly tools: RunTools;
  /** The session of the run's agent as it was last saved, also by earlier turns; undefined before the first. */
  readonly agentSession: AgentSession | undefined;
  readonly clock: Clock;
  /** Aborted when the run is stopped, or when this worker has lost it or ends; the `reason` of its reason is `stopped`, `lost`, or `shutdown`. */
  readonly signal: AbortSignal;
  /** Results of the completed steps of this turn, by journal key. */
  readonly journal: ReadonlyMap<string, unknown>;
  /** The answer to the human request of the step, if it has been answered. */
  answer(step: string): HumanAnswer | undefined;
  /** The memory files of the agent by path, including what `commit` has written. Empty when its memory is turned off. */
  memory(): Promise<ReadonlyMap<string, string>>;
  /** Makes events visible immediately, before their step has completed. */
  emit(events: RuntimeEvent[]): Promise<void>;
  /**
   * Records a completed step with its result, its events, and its memory file, in one transaction. Throws when the run was stopped or
   * lost, and a ServiceError when the memory cannot be written; then nothing is recorded. `end` is how the run ends with this step: it
   * is recorded in the same transaction, and `advance` must return it.
   */
  commit(step: string, result: unknown, events?: RuntimeEvent[], remember?: MemoryWrite, end?: RunEnd): Promise<void>;
  /** Saves the session of the run's agent, with events. Throws when the run was stopped or lost. */
  saveAgentSession(session: AgentSession, events?: RuntimeEvent[]): Promise<void>;
  /**
   * The values of secrets of the run's agent, by name; those that do not exist are missing. They are replaced with their names in
   * everything that is recorded afterwards.
   */
  secrets(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Replaces further values with their names in everything that is recorded from now on, such as those that a running process got earlier. */
  redact(secrets: ReadonlyMap<string, string>): void;
  /** The conversation so far as text, for an agent that cannot remember it. The latest part if it is long. */
  transcript(): Promise<string>;
  /**
   * Performs an action on a case and journals the result, in one transaction. Throws a ServiceError when that is impossible:
   * the run has no case or has lost it, or there is no such queue or agent.
   */
  act(step: string, action: CaseAction): Promise<unknown>;
}
