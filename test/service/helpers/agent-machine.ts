/** A service whose runs are executed by agents that are processes. */
import { readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { HumanRequest, Run, RunMessage, RunStatus } from '../../../src/interface/types.ts';
import { type ServiceOptions, startService } from '../../../src/service/service.ts';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { databaseOptions } from '../../support/postgres.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { EventReader } from './events.ts';
import { Api, config } from './service.ts';

/** The definition of an agent (src/service/runtimes/acp/definition.ts), without its version. */
export type AgentFields = Record<string, unknown> & ({ command: readonly string[] } | { acp: string });

export class AgentMachine {
  readonly dataDirectory: string;
  readonly #options: Partial<ServiceOptions>;
  #api: Api | undefined;
  #agents = 0;

  private constructor(dataDirectory: string, options: Partial<ServiceOptions>) {
    this.dataDirectory = dataDirectory;
    this.#options = options;
  }

  /** Starts a service that is closed after the test. Agents are not confined unless the options say so. */
  static async start(options: Partial<ServiceOptions> = {}): Promise<AgentMachine> {
    const dataDirectory = options.dataDirectory ?? (await temporaryDirectory());
    await putEmptyDatabase(dataDirectory);
    const machine = new AgentMachine(dataDirectory, { exec: 'host', ...options });
    afterTest(() => machine.close());
    await machine.restart();
    return machine;
  }

  get api(): Api {
    return this.#api as Api;
  }

  /** Ends the service with all its agents, and starts another one with its data. */
  async restart(): Promise<void> {
    await this.close();
    const { dataDirectory } = this;
    const database = await databaseOptions(dataDirectory);
    this.#api = new Api(await startService({ exec: 'host', ...database, ...this.#options, dataDirectory }), dataDirectory);
  }

  async close(): Promise<void> {
    await this.#api?.service.close();
  }

  /** Starts a run of a new agent, and returns it when it has ended or waits for a person. */
  async run(agent: AgentFields, message?: string): Promise<Run> {
    const run = await this.begin(agent, message);
    return await this.until(run.id, 'waiting', 'completed', 'failed');
  }

  /** Creates an agent, and returns its ID. */
  async create(agent: AgentFields): Promise<string> {
    const definition = JSON.stringify({ version: 1, ...agent });
    const name = `Agent ${++this.#agents}`;
    const { agent: newAgent } = await this.api.ok('createAgent', {
      body: { name, build: { name: 'first', config: config(definition, 'acp') } },
    });
    return newAgent.id;
  }

  /** Starts a run of a new agent. */
  async begin(agent: AgentFields, message?: string): Promise<Run> {
    const { run } = await this.api.ok('startRun', {
      body: { agent_id: await this.create(agent), ...(message === undefined ? {} : { message }) },
    });
    return run;
  }

  /** The run once it has one of the statuses. */
  async until(runId: string, ...statuses: RunStatus[]): Promise<Run> {
    // Each change of the run is an event, so nothing has to be polled.
    const events = await EventReader.open(this.api, `/v2/runs/${runId}/events`);
    try {
      for (;;) {
        const { run } = await this.api.ok('getRun', { params: { run_id: runId } });
        if (statuses.includes(run.status)) return run;
        await events.next();
      }
    } finally {
      events.close();
    }
  }

  /** Sends a message to a run that has ended, and returns the run when it has ended again or waits for a person. */
  async send(run: Run, message: string): Promise<Run> {
    const events = await EventReader.open(this.api, `/v2/runs/${run.id}/events`);
    try {
      await this.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message } });
      for (;;) {
        const { run: next } = await this.api.ok('getRun', { params: { run_id: run.id } });
        const isOver = ['waiting', 'completed', 'failed'].includes(next.status);
        if (isOver && next.completed_at !== run.completed_at) return next;
        await events.next();
      }
    } finally {
      events.close();
    }
  }

  async pending(run: Run): Promise<HumanRequest> {
    const { pending_human_request: pending } = await this.api.ok('getRun', { params: { run_id: run.id } });
    if (pending === null) throw new Error('The run has no pending request.');
    return pending;
  }

  /** Answers the pending request, and returns the run when it has ended or waits again. */
  async answer(run: Run, body: { approved: boolean; reason?: string } | { answers: Record<string, string> }): Promise<Run> {
    const { id } = await this.pending(run);
    await this.api.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: id }, body });
    return await this.until(run.id, 'waiting', 'completed', 'failed');
  }

  async messages(run: Run): Promise<RunMessage[]> {
    return (await this.api.ok('listRunMessages', { params: { run_id: run.id }, query: { limit: 50 } })).messages;
  }

  /** The texts of messages of a type. */
  async texts(run: Run, type = 'message'): Promise<string[]> {
    const messages = await this.messages(run);
    return messages.filter((message) => message.type === type && message.role !== 'user').map((message) => message.text_content ?? '');
  }

  workspace(run: Run): string {
    return path.join(this.dataDirectory, 'sandboxes', run.sandbox_id as string, 'workspace');
  }

  /** The HOME of the run's agent. */
  home(run: Run): string {
    return path.join(this.dataDirectory, 'sandboxes', run.sandbox_id as string, 'home');
  }

  file(run: Run, name: string): string {
    return path.join(this.workspace(run), name);
  }

  /** Fails the test if the service still has processes that work in the workspace of a run. */
  expectNoProcess(run: Run): void {
    expect(processesIn(this.workspace(run))).toEqual([]);
  }
}

/** The IDs of the processes whose working directory is a folder. Only Linux tells. */
export const processesIn = (folder: string): string[] => processesWith((current) => current === folder);

/** The same for a folder and everything below it, including what was removed. */
export const processesBelow = (folder: string): string[] => processesWith((current) => `${current}/`.startsWith(`${folder}/`));

function processesWith(matches: (folder: string) => boolean): string[] {
  if (process.platform !== 'linux') return [];
  const folderOf = (pid: string): string | undefined => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`);
    } catch {
      return undefined;
    }
  };
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && matches(folderOf(name) ?? ''));
}
