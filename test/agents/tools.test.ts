/** Agents made by others use the tools of their runs: they find them, ask a person before they change something, and do not pass on their token. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ExecLevel } from '../../src/service/sandbox/launch.ts';
import { AgentMachine, processesIn } from '../service/helpers/agent-machine.ts';
import { needsContainment } from '../support/contained.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest } from '../support/temporary.ts';
import { definitionOf, type InstalledAgent, modelAgents } from './installed.ts';
import { ModelServer, type Script } from './model-server.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

const fact = { path: 'notes.md', content: 'Acme pays late.' };

/** The model remembers a fact with the tool `remember`, whose name each agent changes in its own way. */
const remembering: Script = ({ tools, results }) => {
  const name = tools.find((tool) => tool.endsWith('remember'));
  // Codex does not offer tools before the model has searched for them.
  const calls = [
    ...(name === undefined ? [{ call: 'tool_search', with: { query: 'remember' } }] : []),
    { call: name ?? 'mcp__aops__remember', with: fact },
  ];
  return calls[results.length] ?? { say: results.at(-1) ?? '' };
};

async function started(agent: InstalledAgent, exec: ExecLevel) {
  const model = await ModelServer.start(remembering);
  afterTest(() => model.close());
  const machine = await AgentMachine.start({ exec, agents: { allow: ['loopback'] } });
  const run = await machine.run(definitionOf(agent, model.url), 'Remember that Acme pays late.');
  const memory = () => machine.api.call('getAgentMemoryFile', { params: { agent_id: run.agent_id as string, path: 'notes.md' } });
  return { machine, run, memory };
}

for (const agent of modelAgents) {
  describeNeeding(agent.missing, agent.name, () => {
    it(
      'asks before it uses a tool of its run, and uses it only if a person approves',
      async () => {
        const { machine, run, memory } = await started(agent, 'host');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        expect((await machine.pending(run)).title).toContain('remember');
        expect((await memory()).status).toBe(404);
        expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed', error: null });
        expect((await memory()).status).toBe(404);

        await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Remember it after all.' } });
        expect(await machine.until(run.id, 'waiting', 'failed')).toMatchObject({ status: 'waiting' });
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
        expect((await memory()).body).toMatchObject({ content: fact.content, source_agent_run_id: run.id });
        expect(await machine.texts(run, 'notice')).toContain('The agent wrote the memory file "notes.md".');
      },
      startLimit,
    );

    it(
      'uses the tools after the service was restarted while a person was awaited',
      async () => {
        const { machine, run, memory } = await started(agent, 'host');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        await machine.restart();
        let outcome = await machine.answer(run, { approved: true });
        // An agent that does not report the arguments of the call, or does not remember it, asks again.
        if (outcome.status === 'waiting') outcome = await machine.answer(run, { approved: true });
        expect(outcome).toMatchObject({ status: 'completed', error: null });
        expect((await memory()).body).toMatchObject({ content: fact.content });
      },
      startLimit,
    );
  });

  describeNeeding(agent.missing ?? needsContainment, `${agent.name}, contained`, () => {
    it(
      'uses a tool of its run without knowing the token',
      async () => {
        const { machine, run, memory } = await started(agent, 'contained');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        const processes = processesIn(machine.workspace(run));
        expect(processes.length).toBeGreaterThan(0);
        for (const pid of processes) expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('aops_run_');
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
        expect((await memory()).body).toMatchObject({ content: fact.content });
      },
      startLimit,
    );
  });
}
