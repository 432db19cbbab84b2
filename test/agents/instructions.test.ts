/** Instructions and skills reach the models of agents made by others, next to what the repository of a run contains. */
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { systemPath } from '../../src/service/sandbox/exec.ts';
import { AgentMachine } from '../service/helpers/agent-machine.ts';
import { newRepository } from '../support/repository.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';
import { modelAgents, programFolders } from './installed.ts';
import { ModelServer, steps } from './model-server.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

const skill = '---\nname: release-notes\ndescription: Writes the notes of the amaranth release.\n---\nUse short sentences.\n';

for (const agent of modelAgents) {
  describeNeeding(agent.missing, agent.name, () => {
    it(
      'reads its instructions, the descriptions of its skills, and the AGENTS.md of the repository, each once',
      async () => {
        const model = await ModelServer.start(steps({ say: 'Understood.' }));
        afterTest(() => model.close());
        const machine = await AgentMachine.start({
          commandPath: [path.dirname(process.execPath), ...programFolders, systemPath].join(':'),
        });
        const repository = await newRepository(await temporaryDirectory(), {
          'AGENTS.md': 'The tests of this repository are chartreuse.\n',
        });
        const agent_id = await machine.create({
          acp: agent.name,
          instructions: 'Every answer must be cerulean.\n',
          skills: { 'release-notes': { 'SKILL.md': skill, 'scripts/collect.sh': '#!/bin/sh\ngit log\n' } },
          environment: agent.environment(model.url),
        });
        const { run } = await machine.api.ok('startRun', {
          body: { agent_id, message: 'Hello', repository: { path: repository.folder } },
        });
        const outcome = await machine.until(run.id, 'waiting', 'completed', 'failed');
        expect(outcome).toMatchObject({ status: 'completed', error: null });
        const { data: changes } = await machine.api.ok('getRunChanges', { params: { run_id: run.id } });
        expect(changes.files).toEqual([]);
        const request = JSON.stringify(model.requests.find(({ turn }) => turn !== undefined)?.body);
        const count = (word: string): number => request.split(word).length - 1;
        expect({ instructions: count('cerulean'), skill: count('amaranth'), repository: count('chartreuse') }).toEqual({
          instructions: 1,
          skill: 1,
          repository: 1,
        });
      },
      startLimit,
    );
  });
}
