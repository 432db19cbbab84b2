/** Agents made by others with the service in a process of its own, which is killed, and with answers from other processes. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { definitionOf, type InstalledAgent, modelAgents } from '../agents/installed.ts';
import { ModelServer, steps } from '../agents/model-server.ts';
import { AgentService, type Level } from '../support/agent-service.ts';
import { needsContainment } from '../support/contained.ts';
import { describeNeeding, type Missing } from '../support/requirements.ts';
import { afterTest } from '../support/temporary.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

/** A service with a run of an agent whose model writes a file into a repository, as soon as the agent requires permission for it. */
async function waiting(agent: InstalledAgent, level: Level) {
  const model = await ModelServer.start(steps({ write: 'hello.txt', content: 'Hello\nworld\n' }, { say: 'I wrote the file.' }));
  afterTest(() => model.close());
  const service = await AgentService.start(level);
  const repository = await service.repository({ 'README.md': 'A shop\n' });
  const run = await service.begin(definitionOf(agent, model.url), '--repo', repository.folder, '--message', 'Write the file hello.txt.');
  const request = await service.pending(run);
  expect(request).toMatchObject({ type: 'approval', title: expect.stringContaining('hello.txt') });
  return { service, repository, run, request };
}

const levels: [Level, Missing][] = [
  ['host', undefined],
  ['contained', needsContainment],
];

for (const agent of modelAgents) {
  for (const [level, missing] of levels) {
    describeNeeding(agent.missing ?? missing, `${agent.name} (${level})`, () => {
      it('continues after kill -9 of the service, and its changes are applied to the repository', { timeout: startLimit }, async () => {
        const { service, repository, run, request } = await waiting(agent, level);
        await service.killAndStart(run);
        expect((await service.machine.getRun(run)).pending_human_request).toEqual(request);
        expect((await service.machine.here('sandbox', 'ls', run)).stdout).not.toContain('hello.txt');

        await service.respond(run, request.id, '--approve');
        const answers = await service.approveUntilEnd(run);
        const transcript = (await service.machine.here('runs', 'messages', run)).stdout;
        // Only a session that could not be continued knows nothing of the request.
        if (/The session of .+ was (resumed|loaded)\./.test(transcript)) expect(answers).toBe(0);
        else expect(transcript).toMatch(/A new session of .+ was opened with the transcript/);
        expect(transcript).toContain('I wrote the file.');

        expect(existsSync(path.join(repository.folder, 'hello.txt'))).toBe(false);
        expect(await service.machine.aops('sandbox', 'apply', run, '--to', repository.folder)).toMatchObject({ code: 0 });
        expect(await readFile(path.join(repository.folder, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
        expect(await repository.git('status', '--porcelain')).toBe('A  hello.txt\n');
        await service.untilEnded(run);
      });
    });
  }

  describeNeeding(agent.missing, agent.name, () => {
    it('writes nothing and leaves no process behind if its run is stopped', { timeout: startLimit }, async () => {
      const { service, run } = await waiting(agent, 'host');
      expect(await service.machine.aops('runs', 'stop', run, '--yes')).toMatchObject({ code: 0 });
      await service.untilEnded(run);
      expect(await service.machine.getRun(run)).toMatchObject({ status: 'interrupted', pending_human_request: null });
      expect((await service.machine.here('sandbox', 'diff', run, '--name-only')).stdout).toBe('');
    });
  });
}
