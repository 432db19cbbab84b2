/** The files that the definition of an agent allows a contained agent to read. */
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { needsContainment } from '../../support/contained.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { AgentMachine } from '../helpers/agent-machine.ts';

const misbehaving = path.resolve(import.meta.dirname, '../../agents/misbehaving.js');
const command = [process.execPath, misbehaving, 'text'];
/** The agent imports modules from a folder next to its program. */
const modules = path.join(path.dirname(misbehaving), 'misbehaving');

describeNeeding(needsContainment, 'a contained agent', () => {
  it('can read its modules only if its definition allows the folder', async () => {
    const machine = await AgentMachine.start({ exec: 'contained' });
    const refusal = await machine.run({ command }, 'Hello');
    expect(refusal).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('allow them with `--allow-path FOLDER`'),
    });
    const run = await machine.run({ command, files: [modules] }, 'Hello');
    expect(run).toMatchObject({ status: 'completed', error: null });
  });

  it('is not started if an allowed file does not exist', async () => {
    const machine = await AgentMachine.start({ exec: 'contained' });
    const run = await machine.run({ command, files: [modules, '/no/such/file'] }, 'Hello');
    expect(run).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('The agent needs /no/such/file, which does not exist on the machine of the service.'),
    });
  });

  it('cannot be allowed to read the data directory, even through a link, or what only its owner can read', async () => {
    const machine = await AgentMachine.start({ exec: 'contained' });
    const folder = await realpath(await temporaryDirectory());
    await symlink(machine.dataDirectory, path.join(folder, 'link'));
    await mkdir(path.join(folder, 'private'), { mode: 0o700 });
    await writeFile(path.join(folder, 'key'), 'secret', { mode: 0o600 });
    for (const place of [machine.dataDirectory, path.dirname(machine.dataDirectory), '/', 'link', 'private', 'key']) {
      const run = await machine.run({ command, files: [modules, path.resolve(folder, place)] }, 'Hello');
      expect({ place, status: run.status, error: run.error }).toEqual({
        ...{ place, status: 'failed' },
        error: expect.stringMatching(/^The agent cannot be started\. /),
      });
    }
  });
});
