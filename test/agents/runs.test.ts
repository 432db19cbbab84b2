/** Runs of agents made by others, on a real service: they ask a person, respect the answer, and survive the end of the service. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { AgentMachine } from '../service/helpers/agent-machine.ts';
import { needsContainment } from '../support/contained.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest } from '../support/temporary.ts';
import { definitionOf, type InstalledAgent, modelAgents } from './installed.ts';
import { ModelServer, steps } from './model-server.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

/** The definition of an agent whose model writes a file. */
async function writing(agent: InstalledAgent) {
  const model = await ModelServer.start(steps({ write: 'hello.txt', content: 'Hello\nworld\n' }, { say: 'I wrote the file.' }));
  afterTest(() => model.close());
  return definitionOf(agent, model.url);
}

for (const agent of modelAgents) {
  describeNeeding(agent.missing, agent.name, () => {
    it(
      'asks before it writes, and writes only what a person approves',
      async () => {
        const machine = await AgentMachine.start();
        const run = await machine.run(await writing(agent), 'Write the file hello.txt.');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        const pending = await machine.pending(run);
        expect(pending).toMatchObject({ type: 'approval', title: expect.stringContaining('hello.txt') });
        expect(pending.description).toContain('+Hello\n+world');
        expect(existsSync(machine.file(run, 'hello.txt'))).toBe(false);

        expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed', error: null });
        expect(existsSync(machine.file(run, 'hello.txt'))).toBe(false);

        // A message to a run that has ended is the next prompt.
        await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Write it after all.' } });
        expect(await machine.until(run.id, 'waiting', 'failed')).toMatchObject({ status: 'waiting' });
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
        expect(await readFile(machine.file(run, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        const messages = await machine.messages(run);
        const afterApproval = messages.slice(messages.findLastIndex(({ type }) => type === 'human_response') + 1);
        // Claude sometimes reports the result of a tool after the text that follows it.
        expect(afterApproval.map(({ type }) => type).sort()).toEqual(['message', 'tool_result']);
        expect(afterApproval).toContainEqual(expect.objectContaining({ text_content: 'I wrote the file.' }));
        machine.expectNoProcess(run);
      },
      startLimit,
    );

    it(
      'continues after the service was restarted while a person was awaited',
      async () => {
        const machine = await AgentMachine.start();
        const run = await machine.run(await writing(agent), 'Write the file hello.txt.');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        await machine.restart();
        machine.expectNoProcess(run);
        let outcome = await machine.answer(run, { approved: true });
        // A session that could not be continued knows nothing of the request, so the agent asks again.
        if (outcome.status === 'waiting') outcome = await machine.answer(run, { approved: true });
        expect(outcome).toMatchObject({ status: 'completed', error: null });
        expect(await readFile(machine.file(run, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        expect(await machine.texts(run, 'notice')).toEqual([
          expect.stringMatching(/^The session of .+ was (resumed|loaded)\.$|^A new session of .+ was opened with the transcript/),
        ]);
      },
      startLimit,
    );
  });

  describeNeeding(agent.missing ?? needsContainment, `${agent.name}, contained`, () => {
    it(
      'reaches its model, and asks before it writes',
      async () => {
        const machine = await AgentMachine.start({ exec: 'contained', agents: { allow: ['loopback'] } });
        const run = await machine.run(await writing(agent), 'Write the file hello.txt.');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
        expect(await readFile(machine.file(run, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        const detail = await machine.api.ok('getRunDetail', { params: { agentId: run.agent_id as string, runId: run.id } });
        expect(detail.exec_level).toBe('contained');
      },
      startLimit,
    );
  });
}
