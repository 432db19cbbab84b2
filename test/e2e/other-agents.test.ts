/** Agents made by others with the service in a process of its own, which is killed, and with answers from other processes. */
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { definitionOf, type InstalledAgent, modelAgents } from '../agents/installed.ts';
import { ModelServer, type Script } from '../agents/model-server.ts';
import { fact, otherFact, performing } from '../agents/performing.ts';
import { AgentService, type Level } from '../support/agent-service.ts';
import { needsContainment } from '../support/contained.ts';
import { processesUsing } from '../support/processes.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest } from '../support/temporary.ts';

/** Agents load hundreds of megabytes when they start, which takes long on a busy machine; in milliseconds. */
const startLimit = 240_000;

const hello = { write: 'hello.txt', content: 'Hello\nworld\n' };

/**
 * A run of an agent in a repository that required permission to write a file, continued after kill -9 of the service, and has been
 * granted that permission.
 */
async function continued(agent: InstalledAgent, level: Level, script: Script) {
  const model = await ModelServer.start(script);
  afterTest(() => model.close());
  const service = await AgentService.start(level);
  const repository = await service.repository({ 'README.md': 'A shop\n' });
  const run = await service.begin(definitionOf(agent, model.url), '--repo', repository.folder, '--message', 'Write the file hello.txt.');
  const request = await service.pending(run);
  expect(request).toMatchObject({ type: 'approval', title: expect.stringContaining('hello.txt') });

  await service.killAndStart(run);
  expect((await service.machine.getRun(run)).pending_human_request).toEqual(request);
  expect((await service.machine.here('sandbox', 'ls', run)).stdout).not.toContain('hello.txt');
  await service.respond(run, request.id, '--approve');

  /**
   * Approves the file again if the agent does not remember it: a session that was continued knows the request that was open, so that
   * nobody is asked twice. Returns the next request.
   */
  const approveFile = async () => {
    let next = await service.pending(run);
    const isRepeated = next.title.includes('hello.txt');
    if (isRepeated) {
      await service.respond(run, next.id, '--approve');
      next = await service.pending(run);
    }
    const transcript = (await service.machine.here('runs', 'messages', run)).stdout;
    if (/The session of .+ was (resumed|loaded)\./.test(transcript)) expect(isRepeated).toBe(false);
    else expect(transcript).toMatch(/A new session of .+ was opened with the transcript/);
    return next;
  };
  /** What the run has changed can be applied to the repository, and only that. */
  const expectApplied = async () => {
    expect(existsSync(path.join(repository.folder, 'hello.txt'))).toBe(false);
    expect(await service.machine.aops('sandbox', 'apply', run, '--to', repository.folder)).toMatchObject({ code: 0 });
    expect(await readFile(path.join(repository.folder, 'hello.txt'), 'utf8')).toBe('Hello\nworld\n');
    expect(await repository.git('status', '--porcelain')).toBe('A  hello.txt\n');
  };
  return { service, run, approveFile, expectApplied };
}

for (const agent of modelAgents) {
  describeNeeding(agent.missing ?? needsContainment, `${agent.name} (contained)`, () => {
    it('continues after kill -9 of the service, asks before it uses a tool, whose token it does not know, and its changes are applied', {
      timeout: startLimit,
    }, async () => {
      const script = performing(hello, { remember: fact }, { remember: otherFact });
      const { service, run, approveFile, expectApplied } = await continued(agent, 'contained', script);
      let request = await approveFile();
      expect(request.title).toContain('remember');
      expect(await service.memory(run, fact.path)).toBeUndefined();
      const processes = processesUsing(await service.sandbox(run));
      expect(processes.length).toBeGreaterThan(0);
      for (const pid of processes) expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('aops_run_');
      await service.respond(run, request.id, '--approve');

      // The approval was for one call: the next one is refused.
      request = await service.pending(run);
      expect(request.title).toContain('remember');
      expect(await service.memory(run, fact.path)).toBe(fact.content);
      await service.respond(run, request.id, '--deny');
      expect(await service.machine.here('runs', 'wait', run)).toMatchObject({ code: 0 });
      expect(await service.memory(run, otherFact.path)).toBeUndefined();
      expect((await service.detail(run)).exec_level).toBe('contained');
      await expectApplied();
      await service.untilEnded(run);
    });
  });

  describeNeeding(agent.missing, `${agent.name} (host)`, () => {
    it('continues after kill -9 of the service, for a file and then for a tool, and writes nothing more and ends if its run is stopped', {
      timeout: startLimit,
    }, async () => {
      let kills = 0;
      const untilTool = performing(hello, { remember: fact });
      const fromTool = performing({ remember: fact }, { write: 'other.txt', content: 'Other\n' });
      const { service, run, approveFile, expectApplied } = await continued(agent, 'host', (turn) =>
        kills === 0 ? untilTool(turn) : fromTool(turn),
      );
      let request = await approveFile();
      expect(request.title).toContain('remember');
      kills += 1;
      await service.killAndStart(run);
      expect((await service.machine.getRun(run)).pending_human_request).toEqual(request);
      expect(await service.memory(run, fact.path)).toBeUndefined();
      await service.respond(run, request.id, '--approve');
      request = await service.pending(run);
      // An agent that does not report the arguments of the call, or does not remember it, asks again.
      if ((await service.memory(run, fact.path)) === undefined) {
        await service.respond(run, request.id, '--approve');
        request = await service.pending(run);
      }
      expect(await service.memory(run, fact.path)).toBe(fact.content);
      expect(request).toMatchObject({ type: 'approval', title: expect.stringContaining('other.txt') });

      expect(await service.machine.aops('runs', 'stop', run, '--yes')).toMatchObject({ code: 0 });
      await service.untilEnded(run);
      expect(await service.machine.getRun(run)).toMatchObject({ status: 'interrupted', pending_human_request: null });
      expect((await service.machine.here('sandbox', 'diff', run, '--name-only')).stdout).toBe('hello.txt\n');
      await expectApplied();
    });
  });
}
