/** The folders of a contained agent between its processes: an agent can change its HOME, and the next process is started with it. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { needsContainment } from '../../support/contained.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { AgentMachine } from '../helpers/agent-machine.ts';
import { installMisbehaving } from '../helpers/installed-agent.ts';

describeNeeding(needsContainment, 'a contained agent', () => {
  it('cannot make its next process write to other folders by replacing folders of its HOME with links', async () => {
    const folder = await installMisbehaving();
    const machine = await AgentMachine.start({ exec: 'contained' });
    const command = [process.execPath, path.join(folder, 'misbehaving.js'), 'links-folders'];
    // Its skills are folders of its HOME to which the service writes before each of its processes.
    const skills = { one: { 'SKILL.md': '---\nname: one\ndescription: The first.\n---\n' } };
    const run = await machine.run({ command, skills }, 'Hello');
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await machine.send(run, 'Again')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('The agent has replaced ~/.agents/skills/one/SKILL.md in its home folder'),
    });
    expect(existsSync(path.join(folder, 'skills'))).toBe(false);
    expect(await machine.texts(run)).toEqual(['EROFS']);
    expect(existsSync(path.join(folder, 'written.txt'))).toBe(false);
  });
});
