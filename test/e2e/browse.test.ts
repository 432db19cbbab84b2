/** A browser never outlives its run or service, and a run continues from its last step. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeWithChromium, startSite, windowedChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { kill, Machine } from '../support/machine.ts';
import { isAlive } from '../support/processes.ts';

/** Browser processes that the machine's service started, excluding zombies. */
async function browsers(machine: Machine): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'stat=,args='], { maxBuffer: 10_000_000 });
  const profiles = path.join(machine.folder, 'tmp', 'aops-browser-');
  return stdout.split('\n').filter((line) => line.includes(profiles) && !line.startsWith('Z'));
}
const nothingLeft = (machine: Machine): Promise<true> =>
  eventually('the browser has ended, and its folder is removed', async () => {
    const leftovers = (await readdir(path.join(machine.folder, 'tmp'))).filter((name) => name.startsWith('aops-browser-'));
    return leftovers.length === 0 && (await browsers(machine)).length === 0;
  });

describeWithChromium('the browser of a run', () => {
  it('ends with the service, whether killed or stopped, and with the run, which continues after its last step', async () => {
    let open = false;
    const resolvers: (() => void)[] = [];
    const site = await startSite({
      '/first': '<title>First</title><h1>first</h1>',
      '/slow': (_, response) => {
        const answer = (): unknown => response.end('<title>Slow</title><h1>slow</h1>');
        if (open) answer();
        else resolvers.push(answer);
        return undefined;
      },
    });
    const requestsFor = (name: string): number => site.requests.filter((request) => request.startsWith(`GET ${name}`)).length;
    const machine = await Machine.create();
    machine.env.AOPS_CHROMIUM = windowedChromium as string;
    expect((await machine.here('local', 'up')).code).toBe(0);
    await machine.agent(
      'browsing',
      `
- browse: { id: first, url: "${site.url}/first", actions: [ { extract: { name: h, selector: h1 } } ] }
- browse: { id: slow, url: "${site.url}/slow", timeout: 5m, actions: [ { extract: { name: h, selector: h1 } } ] }
- say: "{{ steps.first.extracted.h }} and {{ steps.slow.extracted.h }}"`,
    );
    const run = await machine.startRun('browsing');

    await eventually('the slow page is requested', () => requestsFor('/slow') === 1);
    expect((await browsers(machine)).length).toBeGreaterThan(1);
    const pid = (await machine.servicePid()) as number;
    kill(pid, 'SIGKILL');
    await eventually('the service is gone', () => !isAlive(pid));
    await nothingLeft(machine);

    expect((await machine.here('local', 'up')).code).toBe(0);
    await eventually('the slow page is requested again', () => requestsFor('/slow') === 2);
    expect((await machine.here('local', 'down')).code).toBe(0);
    await nothingLeft(machine);

    open = true;
    expect((await machine.here('local', 'up')).code).toBe(0);
    expect(await machine.aops('runs', 'watch', run)).toMatchObject({ code: 0, stdout: expect.stringContaining('first and slow') });
    // Recorded steps are not repeated, and are shown once.
    expect(requestsFor('/first')).toBe(1);
    const { data } = await machine.json<{ data: { action: string }[] }>('runs', 'screenshots', run);
    expect(data.map(({ action }) => action)).toEqual(['open', 'extract', 'open', 'extract']);

    open = false;
    const stoppedRun = await machine.startRun('browsing');
    await eventually('the slow page is requested once more', () => requestsFor('/slow') === 4);
    expect((await machine.here('runs', 'stop', stoppedRun, '--yes')).code).toBe(0);
    await nothingLeft(machine);
    for (const answer of resolvers) answer();
  });
});
