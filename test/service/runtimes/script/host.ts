/** A run host for tests: journal and events in memory, answers in advance, and a manual clock. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserOptions } from '../../../../src/service/browser/chromium.ts';
import { notFound } from '../../../../src/service/errors.ts';
import type {
  AgentSession,
  CaseAction,
  HumanAnswer,
  MemoryWrite,
  Outcome,
  RunCase,
  RunHost,
  RuntimeEvent,
} from '../../../../src/service/runtimes/run-host.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { hostLauncher, type Launcher } from '../../../../src/service/sandbox/launch.ts';
import type { Sandbox } from '../../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';

export interface TestSandbox {
  sandbox: Sandbox;
  remove(): Promise<void>;
}

export async function testSandbox(): Promise<TestSandbox> {
  const root = await mkdtemp(path.join(tmpdir(), 'aops-script-'));
  return { sandbox: await new SandboxStore(root).create('s1'), remove: () => rm(root, { recursive: true, force: true }) };
}

/** One transaction of the journal. */
export interface JournalTransaction {
  step: string;
  result: unknown;
  events: RuntimeEvent[];
}

export interface TestHostOptions {
  messages?: string[];
  launcher?: Launcher;
  browsing?: Partial<BrowserOptions>;
  answers?: Record<string, HumanAnswer>;
  /** The memory files of the agent. */
  memory?: Record<string, string>;
  /** Rejects every memory file. */
  refusal?: Error;
  /** What an earlier, interrupted attempt stored. */
  transactions?: JournalTransaction[];
  emittedEvents?: RuntimeEvent[];
  now?: number;
  signal?: AbortSignal;
  case?: RunCase;
  /** The result of an action on a case. */
  acts?: (action: CaseAction) => unknown;
}

export class TestHost implements RunHost {
  readonly run = { id: 'run-1', teamId: 'team-1', number: 7, agentName: 'Ada' };
  readonly procedure: string;
  readonly userMessages: string[];
  readonly answeringMessages = new Set<number>();
  readonly sandbox: Sandbox;
  readonly interruptions = 0;
  readonly launcher: Launcher;
  readonly browsing: BrowserOptions;
  readonly connections: RunHost['connections'] = { open: (name) => Promise.reject(notFound('connection', name)) };
  readonly signal: AbortSignal;
  /** Only agents that are processes call tools. */
  readonly tools = undefined as never;
  readonly answers: Record<string, HumanAnswer>;
  readonly transactions: JournalTransaction[];
  /** In the form in which the engine stores them: in order, each ID once. */
  readonly events: RuntimeEvent[] = [];
  readonly case: RunCase | undefined;
  readonly actions: CaseAction[] = [];
  agentSession: AgentSession | undefined;
  readonly #act: (action: CaseAction) => unknown;
  now: number;
  readonly clock;
  readonly files: Map<string, string>;
  readonly #refusal: Error | undefined;

  constructor(procedure: string, sandbox: Sandbox, options: TestHostOptions = {}) {
    this.procedure = procedure;
    this.sandbox = sandbox;
    this.userMessages = options.messages ?? ['Hello'];
    this.launcher = options.launcher ?? hostLauncher;
    this.browsing = { policy: 'on', searchPath: process.env.PATH ?? '', ...options.browsing };
    this.signal = options.signal ?? new AbortController().signal;
    this.case = options.case;
    this.#act = options.acts ?? (() => ({ status: 'done' }));
    this.answers = { ...options.answers };
    this.files = new Map(Object.entries(options.memory ?? {}));
    this.#refusal = options.refusal;
    this.transactions = [...(options.transactions ?? [])];
    this.now = options.now ?? 1_000_000;
    this.clock = { now: () => this.now, sleep: () => Promise.reject(new Error('a runtime does not wait itself')) };
    this.#store(options.emittedEvents ?? []);
  }

  get journal(): ReadonlyMap<string, unknown> {
    // Through JSON, like a database.
    return new Map(this.transactions.map(({ step, result }) => [step, JSON.parse(JSON.stringify(result ?? null)) as unknown]));
  }

  answer(step: string): HumanAnswer | undefined {
    return this.answers[step];
  }

  async emit(events: RuntimeEvent[]): Promise<void> {
    this.#store(events);
  }

  async memory(): Promise<ReadonlyMap<string, string>> {
    return this.files;
  }

  async commit(step: string, result: unknown, events: RuntimeEvent[] = [], remember?: MemoryWrite): Promise<void> {
    if (remember && this.#refusal) throw this.#refusal;
    if (remember) this.files.set(remember.path, (remember.append ? (this.files.get(remember.path) ?? '') : '') + remember.content);
    if (this.transactions.some((commit) => commit.step === step)) throw new Error(`${step} was committed twice`);
    this.transactions.push({ step, result, events });
    this.#store(events);
  }

  async saveAgentSession(session: AgentSession, events: RuntimeEvent[] = []): Promise<void> {
    this.agentSession = session;
    this.#store(events);
  }

  async secrets(): Promise<ReadonlyMap<string, string>> {
    return new Map();
  }

  redact(): void {}

  async transcript(): Promise<string> {
    return this.texts.join('\n');
  }

  async act(step: string, action: CaseAction): Promise<unknown> {
    const result = this.#act(action);
    this.actions.push(action);
    await this.commit(step, result);
    return result;
  }

  get texts(): string[] {
    return this.events.flatMap((event) => (event.kind === 'text' ? [event.text] : []));
  }

  results(): (RuntimeEvent & { kind: 'tool_result' })[] {
    return this.events.filter((event) => event.kind === 'tool_result');
  }

  #store(events: readonly RuntimeEvent[]): void {
    for (const event of events) if (!this.events.some(({ id }) => id === event.id)) this.events.push(event);
  }
}

/** Advances until the run ends or waits; sleeps pass immediately. */
export async function drive(host: TestHost): Promise<Outcome> {
  for (;;) {
    const outcome = await scriptRuntime.advance(host);
    if (outcome.status !== 'sleeping') return outcome;
    host.now = outcome.until;
  }
}
