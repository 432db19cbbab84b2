/** Agents that are programs, with the real service: it is killed, and a run is continued by another process. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { misbehaving } from '../agents/installed.ts';
import { AgentService, type Level } from '../support/agent-service.ts';
import { needsContainment } from '../support/contained.ts';
import { describeNeeding, type Missing } from '../support/requirements.ts';

/** Our own agent. A contained agent sees only the files in its command, so its other files follow as an argument. */
const agent = (mode: string) => ({ command: [...misbehaving(mode), path.join(import.meta.dirname, '../agents/misbehaving')] });

const levels: [Level, Missing][] = [
  ['host', undefined],
  ['contained', needsContainment],
];

for (const [level, missing] of levels) {
  describeNeeding(missing, `kill -9 of the service while an agent waits for permission (${level})`, () => {
    it('ends the agent; another one resumes the session, and the answer permits only what was requested', async () => {
      const service = await AgentService.start(level);
      const run = await service.begin(agent('two-permissions'), '--message', 'Hello');
      const first = await service.pending(run);
      expect(first.title).toBe('Write first.txt');
      await service.killAndStart(run);

      expect((await service.machine.getRun(run)).pending_human_request).toEqual(first);
      await service.respond(run, first.id, '--approve');
      // The agent asks for both permissions again. The first one has been given, the second one has not.
      const second = await service.pending(run);
      expect(second.title).toBe('Write second.txt');
      await service.respond(run, second.id, '--deny');
      expect(await service.machine.here('runs', 'wait', run)).toMatchObject({ code: 0 });

      const transcript = (await service.machine.here('runs', 'messages', run)).stdout;
      expect(transcript).toContain('The session of Misbehaving agent was resumed.');
      expect(transcript).toContain('[true,false]');
      expect((await service.machine.here('sandbox', 'cat', run, 'first.txt')).stdout).toBe('First');
      expect((await service.machine.here('sandbox', 'ls', run)).stdout).not.toContain('second.txt');
      await service.untilEnded(run);
    });

    it('ends an agent that ignores signals, and the run can be stopped without it', async () => {
      const service = await AgentService.start(level);
      const run = await service.begin(agent('ignore-signals'), '--message', 'Hello');
      await service.pending(run);
      await service.killAndStart(run);
      expect(await service.machine.aops('runs', 'stop', run, '--yes')).toMatchObject({ code: 0 });
      expect(await service.machine.getRun(run)).toMatchObject({ status: 'interrupted', pending_human_request: null });
    });
  });
}
