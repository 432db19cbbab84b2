/** Runs of agents made by others, on a real service: they ask a person, respect the answer, and survive the end of the service. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Run } from '../../src/interface/types.ts';
import { startService } from '../../src/service/service.ts';
import { EventReader } from '../service/helpers/events.ts';
import { Api, config } from '../service/helpers/service.ts';
import { putEmptyDatabase } from '../support/empty-database.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';
import { type InstalledAgent, modelAgents } from './installed.ts';
import { ModelServer, type Script, steps } from './model-server.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

const writing: Script = steps({ write: 'hello.txt', content: 'Hello\nworld\n' }, { say: 'I wrote the file.' });

/** A service with an agent, and a run of it. */
class Machine {
  readonly dataDirectory: string;
  readonly #model: ModelServer;
  api!: Api;
  #close: () => Promise<void> = async () => undefined;

  private constructor(dataDirectory: string, model: ModelServer) {
    this.dataDirectory = dataDirectory;
    this.#model = model;
  }

  static async start(script: Script): Promise<Machine> {
    const dataDirectory = await temporaryDirectory();
    await putEmptyDatabase(dataDirectory);
    const model = await ModelServer.start(script);
    afterTest(() => model.close());
    const machine = new Machine(dataDirectory, model);
    afterTest(() => machine.#close());
    await machine.restart();
    return machine;
  }

  /** Ends the service with all its agents, and starts another one with its data. */
  async restart(): Promise<void> {
    await this.#close();
    const service = await startService({ exec: 'host', dataDirectory: this.dataDirectory });
    this.#close = () => service.close();
    this.api = new Api(service, this.dataDirectory);
  }

  async run(agent: InstalledAgent, message: string): Promise<Run> {
    const { command } = agent;
    const definition = JSON.stringify({ version: 1, command, environment: agent.environment(this.#model.url) });
    const { agent: created } = await this.api.ok('createAgent', {
      body: { name: agent.name, build: { name: 'first', config: config(definition, 'acp') } },
    });
    const { run } = await this.api.ok('startRun', { body: { agent_id: created.id, message } });
    return await this.until(run.id, 'waiting', 'completed', 'failed');
  }

  async until(runId: string, ...statuses: Run['status'][]): Promise<Run> {
    // Each change of the run is an event, so nothing has to be polled.
    const events = await EventReader.open(this.api, `/v2/runs/${runId}/events`);
    try {
      for (;;) {
        const { run } = await this.api.ok('getRun', { params: { run_id: runId } });
        expect(run.error).toBeNull();
        if (statuses.includes(run.status)) return run;
        await events.next();
      }
    } finally {
      events.close();
    }
  }

  async answer(run: Run, body: { approved: boolean; reason?: string }): Promise<Run> {
    const { pending_human_request: pending } = await this.api.ok('getRun', { params: { run_id: run.id } });
    await this.api.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: pending?.id as string }, body });
    return await this.until(run.id, 'waiting', 'completed', 'failed');
  }

  file(run: Run, name: string): string {
    return path.join(this.dataDirectory, 'sandboxes', run.sandbox_id as string, 'workspace', name);
  }
}

for (const agent of modelAgents) {
  describeNeeding(agent.missing, agent.name, () => {
    it(
      'asks before it writes, and writes only what a person approves',
      async () => {
        const machine = await Machine.start(writing);
        const run = await machine.run(agent, 'Write the file hello.txt.');
        expect(run.status).toBe('waiting');
        const { pending_human_request: pending } = await machine.api.ok('getRun', { params: { run_id: run.id } });
        expect(pending).toMatchObject({ type: 'approval', title: expect.stringContaining('hello.txt') });
        expect(pending?.description).toContain('+Hello\n+world');
        expect(existsSync(machine.file(run, 'hello.txt'))).toBe(false);

        expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed' });
        expect(existsSync(machine.file(run, 'hello.txt'))).toBe(false);

        // A message to a run that has ended is the next prompt.
        await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Write it after all.' } });
        expect((await machine.until(run.id, 'waiting', 'completed')).status).toBe('waiting');
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed' });
        expect(await readFile(machine.file(run, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        const { messages } = await machine.api.ok('listRunMessages', { params: { run_id: run.id } });
        const afterApproval = messages.slice(messages.findLastIndex(({ type }) => type === 'human_response') + 1);
        // Claude sometimes reports the result of a tool after the text that follows it.
        expect(afterApproval.map(({ type }) => type).sort()).toEqual(['message', 'tool_result']);
        expect(afterApproval).toContainEqual(expect.objectContaining({ text_content: 'I wrote the file.' }));
      },
      startLimit,
    );

    it(
      'continues after the service was restarted while a person was awaited',
      async () => {
        const machine = await Machine.start(writing);
        const run = await machine.run(agent, 'Write the file hello.txt.');
        expect(run.status).toBe('waiting');
        await machine.restart();
        const outcome = await machine.answer(run, { approved: true });
        expect(outcome.status).toBe('completed');
        expect(await readFile(machine.file(run, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        const { messages } = await machine.api.ok('listRunMessages', { params: { run_id: run.id } });
        expect(messages.filter(({ type }) => type === 'notice').map(({ text_content: text }) => text)).toEqual([
          expect.stringMatching(/^The session of .+ was (resumed|loaded)\.$|^A new session of .+ was opened/),
        ]);
      },
      startLimit,
    );
  });
}
