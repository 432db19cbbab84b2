/**
 * The contract between the engine and what executes an agent. A runtime advances a run from its last completed step until the run ends,
 * has to wait for a person, or sleeps. It can be called again at any time, also after a crash, and must then skip journalled steps.
 */
import type { AgentCheck, RegisteredAgent } from '../../interface/types.ts';
import type { Launcher } from '../sandbox/launch.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Builder } from './builder.ts';
import type { Outcome, RunHost } from './run-host.ts';

/** Something that the agents of a runtime can use; the plugin catalogue lists it. */
export interface RuntimePart {
  name: string;
  /** `step` of a procedure, or `tool` that a model can call. */
  type: 'step' | 'tool';
  description: string;
  /** Whether it requires permission to execute commands. */
  needsExec?: boolean;
}

/** A connection that a procedure refers to. */
export interface NamedConnection {
  /** Name or ID. */
  name: string;
  /** Whether every run of the procedure fails without that connection. */
  needed: boolean;
}

/** A request to check a procedure on this machine. */
export interface CheckRequest {
  procedure: string;
  /** Does work in a sandbox that is removed afterwards. */
  inSandbox<T>(work: (sandbox: Sandbox) => Promise<T>): Promise<T>;
  launcher: Launcher;
  /** The values of the named secrets; those that do not exist are missing. */
  secrets(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Whether to let the agent work for a moment, which can cost money. */
  turn: boolean;
  signal: AbortSignal;
}

export interface Runtime {
  /** The word in `models.agent.model` that selects it. */
  readonly name: string;
  /** A sentence about what it does with a procedure. */
  readonly description?: string;
  readonly parts?: readonly RuntimePart[];
  /** Throws a ServiceError 400 `invalid_procedure` whose details contain line and column. */
  validate(procedure: string): void;
  advance(host: RunHost): Promise<Outcome>;
  /** The names of the queues that a procedure adds cases to, as far as they are known without executing it. */
  queuesOf?(procedure: string): string[];
  /** The connections that a procedure uses, as far as they are known without executing it. */
  connectionsOf?(procedure: string): NamedConnection[];
  /** The programs that it knows, with what is installed on this machine. */
  programs?(): Promise<RegisteredAgent[]>;
  /** Starts what a valid procedure needs, and reports what it finds. Rejects only with the signal's reason. */
  check?(request: CheckRequest): Promise<Pick<AgentCheck, 'problem' | 'warnings' | 'program'>>;
  /** Figures for the workflow execution report. */
  countSteps(procedure: string): number;
  /** Whether a journal entry is a part of a step that has an entry of its own, such as when a pause ends; by default, none is. */
  isPartOfStep?(key: string): boolean;
  /**
   * Ends what it keeps for a run that is waiting, such as a process: the run was stopped, or is no longer executed here. Resolves when
   * that has ended.
   */
  release?(runId: string): void | Promise<void>;
  /** Ends everything that it keeps, when the service stops. */
  close?(): Promise<void>;
  /** Changes procedures of this runtime on request, if it can. */
  readonly builder?: Builder;
}
