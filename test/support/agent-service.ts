/** Agents that are programs, on a local service in a process of its own. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { exitCodes } from '../../src/base/errors.ts';
import type { HumanRequest, RunDetail } from '../../src/interface/types.ts';
import { putEmptyDatabase } from './empty-database.ts';
import { eventually } from './eventually.ts';
import { Machine } from './machine.ts';
import { processesUsing } from './processes.ts';
import { newRepository, type TestRepository } from './repository.ts';

export type Level = 'host' | 'contained';

/** The definition of an agent (src/service/runtimes/acp/definition.ts), without its version. */
type Definition = Record<string, unknown> & { command: readonly string[] };

export class AgentService {
  readonly machine: Machine;
  readonly #level: Level;

  private constructor(machine: Machine, level: Level) {
    this.machine = machine;
    this.#level = level;
  }

  static async start(level: Level): Promise<AgentService> {
    const service = new AgentService(await Machine.create(), level);
    await putEmptyDatabase(path.join(service.machine.folder, 'data', 'local'));
    await service.start();
    return service;
  }

  /** Starts the service, or starts it again. */
  async start(): Promise<void> {
    expect(await this.machine.here('local', 'up', '--exec', this.#level)).toMatchObject({ code: 0 });
  }

  /** Kills the service, checks that no process of the run is left, and starts it again. */
  async killAndStart(runId: string): Promise<void> {
    const folder = await this.sandbox(runId);
    // Otherwise, the check below would prove nothing.
    expect(processesUsing(folder)).not.toEqual([]);
    await this.machine.killService();
    await eventually('no process of the run is left', () => processesUsing(folder).length === 0);
    await this.start();
    expect(processesUsing(folder)).toEqual([]);
  }

  /** Resolves when no process of the run is left. */
  async untilEnded(runId: string): Promise<void> {
    const folder = await this.sandbox(runId);
    await eventually('no process of the run is left', () => processesUsing(folder).length === 0);
  }

  /** A repository with a commit that contains these files. */
  repository(files: Record<string, string>): Promise<TestRepository> {
    return newRepository(path.join(this.machine.folder, 'shop'), files);
  }

  /** Starts a run of a new agent, and returns its ID. */
  async begin(definition: Definition, ...flags: string[]): Promise<string> {
    const file = path.join(this.machine.folder, 'agent.json');
    await writeFile(file, JSON.stringify({ version: 1, ...definition }));
    await this.machine.hereJson('agents', 'create', 'writer', '--procedure', file, '--runtime', 'acp');
    return await this.machine.startRun('writer', ...flags);
  }

  /** The pending request of a run, as soon as there is one. */
  async pending(runId: string): Promise<HumanRequest> {
    type Waiting = { pending_human_request: HumanRequest };
    return (await this.machine.hereJson<Waiting>('runs', 'wait', runId, '--for', 'waiting')).pending_human_request;
  }

  /** Answers a request with `aops runs respond`, which is another process. */
  async respond(runId: string, requestId: string, decision: '--approve' | '--deny'): Promise<void> {
    expect(await this.machine.aops('runs', 'respond', runId, requestId, decision)).toMatchObject({ code: 0 });
  }

  /** The content of a memory file of the run's agent, or undefined if there is no such file. */
  async memory(runId: string, file: string): Promise<string | undefined> {
    const { agent_id: agent } = await this.machine.getRun(runId);
    const { code, stdout, stderr } = await this.machine.here('agents', 'memory', 'get', agent as string, file);
    if (code === exitCodes.notFound) return undefined;
    if (code !== 0) throw new Error(`The memory cannot be read: ${stderr}`);
    return stdout.trimEnd();
  }

  /** All that is known about a run. */
  async detail(runId: string): Promise<RunDetail> {
    const { agent_id: agent } = await this.machine.getRun(runId);
    return await this.machine.request<RunDetail>('GET', `/agent/${agent}/runs/${runId}`);
  }

  /** The folder with the files of a run, in which its processes work. */
  async sandbox(runId: string): Promise<string> {
    const { sandbox_id: sandbox } = await this.machine.getRun(runId);
    return path.join(this.machine.folder, 'data', 'local', 'sandboxes', sandbox as string);
  }
}
