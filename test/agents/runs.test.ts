/**
 * Runs of agents made by others, on a real service: instructions and skills reach their models, next to what the repository of a run
 * contains; they ask a person before they use a tool or write a file, and respect the answer. Each start of an agent takes seconds of CPU time, so a test examines as much as possible with one. test/e2e/other-agents.test.ts does
 * the same with containment, and where the service is killed while a person is awaited.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
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
import { fact, performing } from './performing.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

const hello = { write: 'hello.txt', content: 'Hello\nworld\n' };

const skill = '---\nname: release-notes\ndescription: Writes the notes of the amaranth release.\n---\nUse short sentences.\n';

/** A memory file of the run's agent. */
const memory = (machine: AgentMachine, { agent_id }: { agent_id: string | null }) =>
  machine.api.call('getAgentMemoryFile', { params: { agent_id: agent_id as string, path: fact.path } });

for (const agent of modelAgents) {
  describeNeeding(agent.missing, agent.name, () => {
    it(
      'reads its instructions once, asks before it uses a tool or writes a file, and does only what a person approves',
      async () => {
        const model = await ModelServer.start(performing({ remember: fact }, hello));
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
        const message = 'Remember that Acme pays late, and write the file hello.txt.';
        const { run: started } = await machine.api.ok('startRun', { body: { agent_id, message, repository: { path: repository.folder } } });
        const run = await machine.until(started.id, 'waiting', 'completed', 'failed');
        expect(run).toMatchObject({ status: 'waiting', error: null });
        const request = JSON.stringify(model.requests.find(({ turn }) => turn !== undefined)?.body);
        const count = (word: string): number => request.split(word).length - 1;
        const counts = { instructions: count('cerulean'), skill: count('amaranth'), repository: count('chartreuse') };
        expect(counts).toEqual({ instructions: 1, skill: 1, repository: 1 });

        expect((await machine.pending(run)).title).toContain('remember');
        expect((await memory(machine, run)).status).toBe(404);
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'waiting', error: null });
        expect((await memory(machine, run)).body).toMatchObject({ content: fact.content, source_agent_run_id: run.id });
        expect(await machine.texts(run, 'notice')).toContain('The agent wrote the memory file "notes.md".');

        const pending = await machine.pending(run);
        expect(pending).toMatchObject({ type: 'approval', title: expect.stringContaining('hello.txt') });
        expect(pending.description).toContain('+Hello\n+world');
        expect(existsSync(machine.file(run, 'hello.txt'))).toBe(false);
        expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed', error: null });
        expect(existsSync(machine.file(run, 'hello.txt'))).toBe(false);

        // A message to a run that has ended is the next prompt.
        model.script = steps(hello, { say: 'I wrote the file.' });
        await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Write it after all.' } });
        expect(await machine.until(run.id, 'waiting', 'failed')).toMatchObject({ status: 'waiting' });
        expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
        expect(await readFile(machine.file(run, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        const { data: changes } = await machine.api.ok('getRunChanges', { params: { run_id: run.id } });
        expect(changes.files.map((file) => file.path)).toEqual(['hello.txt']);
        const messages = await machine.messages(run);
        const afterApproval = messages.slice(messages.findLastIndex(({ type }) => type === 'human_response') + 1);
        // Claude sometimes reports the result of a tool after the text that follows it.
        expect(afterApproval.map(({ type }) => type).sort()).toEqual(['message', 'tool_result']);
        expect(afterApproval).toContainEqual(expect.objectContaining({ text_content: 'I wrote the file.' }));
        machine.expectNoProcess(run);
      },
      startLimit,
    );
  });
}
