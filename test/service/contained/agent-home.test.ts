/** Contained agents: what their processes leave behind. An agent can change its HOME, and the next process is started with it. */
import { existsSync } from 'node:fs';
import { cp, realpath } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { needsContainment } from '../../support/contained.ts';
import { eventually } from '../../support/eventually.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { AgentMachine, processesIn } from '../helpers/agent-machine.ts';

/** A contained program sees its whole package. @returns the folder of the program */
async function installedAgent(): Promise<string> {
  const folder = path.join(await realpath(await temporaryDirectory()), 'node_modules', 'agent');
  await cp(path.join(import.meta.dirname, '../../agents/misbehaving.js'), path.join(folder, 'misbehaving.js'));
  await cp(path.join(import.meta.dirname, '../../agents/misbehaving'), path.join(folder, 'misbehaving'), { recursive: true });
  return folder;
}

describeNeeding(needsContainment, 'a contained agent', () => {
  it('cannot make its next process write to other folders by replacing folders of its HOME with links', async () => {
    const folder = await installedAgent();
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

  it('cannot leave a daemon with its own session behind', async () => {
    const machine = await AgentMachine.start({ exec: 'contained' });
    const command = [process.execPath, path.join(await installedAgent(), 'misbehaving.js'), 'daemon'];
    const run = await machine.run({ command }, 'Hello');
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await machine.texts(run)).toEqual([expect.stringMatching(/^I started \d+\.$/)]);
    await eventually('the end of all processes', () => processesIn(machine.workspace(run)).length === 0);
  });
});
