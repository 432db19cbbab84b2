/** Checks of agents made by others: each reports itself, asks before it writes, and leaves nothing behind. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { AgentCheck } from '../../src/interface/types.ts';
import { acpAgent } from '../../src/service/runtimes/acp/registry.ts';
import { AgentMachine, processesBelow } from '../service/helpers/agent-machine.ts';
import { config } from '../service/helpers/service.ts';
import { needsContainment } from '../support/contained.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest } from '../support/temporary.ts';
import { definitionOf, type InstalledAgent, modelAgents, modelKey } from './installed.ts';
import { ModelServer, steps } from './model-server.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;
const limits = { checkStart: 100_000, checkTurn: 100_000 };

/** Checks an agent whose model tries to write a file. */
async function check(machine: AgentMachine, agent: InstalledAgent): Promise<AgentCheck> {
  const model = await ModelServer.start(steps({ write: 'aops-check.txt', content: 'aops\n' }, { say: 'I was not allowed to.' }));
  afterTest(() => model.close());
  const definition = { version: 1, ...definitionOf(agent, model.url) };
  const body = { config: config(JSON.stringify(definition), 'acp'), turn: true };
  const report = await machine.api.ok('checkAgent', { params: { teamId: machine.api.service.teamId }, body });
  const sandboxes = path.join(machine.dataDirectory, 'sandboxes');
  expect(processesBelow(sandboxes)).toEqual([]);
  expect(await readdir(sandboxes)).toEqual([]);
  return report;
}

const expected = (agent: InstalledAgent): object => ({
  ...{ usable: true, problem: null },
  program: {
    ...{ version: acpAgent(agent.name).version, protocol_version: 1, signed_in: true, asks: true },
    turn: { asked: true, wrote: false, requests: [{ type: 'approval', title: expect.stringContaining('aops-check.txt') }] },
  },
});

for (const agent of modelAgents) {
  describeNeeding(agent.missing, `a check of ${agent.name}`, () => {
    it(
      'reports that it asks before it writes',
      async () => {
        const report = await check(await AgentMachine.start({ acp: { limits } }), agent);
        expect(report).toMatchObject(expected(agent));
        expect(report.program?.can_resume === true || report.program?.can_load === true).toBe(true);
        expect(JSON.stringify({ ...report, program: { ...report.program, command: [] } })).not.toContain(modelKey);
      },
      startLimit,
    );
  });

  describeNeeding(agent.missing ?? needsContainment, `a check of ${agent.name}, contained`, () => {
    it(
      'reports that it asks before it writes',
      async () => {
        const machine = await AgentMachine.start({ exec: 'contained', agents: { allow: ['loopback'] }, acp: { limits } });
        expect(await check(machine, agent)).toMatchObject({ ...expected(agent), program: { exec_level: 'contained' } });
      },
      startLimit,
    );
  });
}
