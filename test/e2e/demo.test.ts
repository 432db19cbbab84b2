import { execFile, spawn } from 'node:child_process';
import { readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeWithChromium, windowedChromium } from '../support/chromium.ts';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { codeCache, kill, project } from '../support/machine.ts';
import { keys, Screen } from '../support/screen.ts';
import { afterTest, temporaryFolder } from '../support/temporary.ts';

const execute = promisify(execFile);

/** Without the cache, every demo would compile the program and store the compiled code in a folder of its own. */
const demoEnvironment = (): Record<string, string> => ({ ...cleanEnvironment(), NODE_COMPILE_CACHE: codeCache });

/** Runs the demo of an example without a person. `remainingFiles` lists what remains in its folder for temporary files. */
async function demonstrate(example: string, argv: readonly string[] = [], environment: Record<string, string> = {}) {
  const folder = await temporaryFolder();
  const env = { ...demoEnvironment(), ...environment, TMPDIR: folder, CI: 'true' };
  const child = spawn(process.execPath, [path.join(project, 'examples', example, 'demo.js'), ...argv], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(stderr).toContain('$ aops local down');
  expect(stdout).toContain('Stopped the local service');
  return { code, stdout, stderr, remainingFiles: await readdir(folder) };
}

it('completes the main scenario without a person, shows the output of the run, and leaves nothing behind', async () => {
  expect(await demonstrate('invoice-check')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('# Invoices of the day'),
    remainingFiles: [],
  });
});

it('lets an agent fix a failing test without a person, and applies the change', async () => {
  const { code, stdout, stderr, remainingFiles } = await demonstrate('failing-test', ['example']);
  expect({ code, remainingFiles }, stderr).toEqual({ code: 0, remainingFiles: [] });
  expect(stdout).toMatch(/^not ok 3 - ships orders of 50 EUR free of charge\n# pass 3\n# fail 1$/m);
  expect(stdout).toMatch(/^› Approved: Edit src\/shipping\.js$/m);
  expect(stdout).toMatch(/^- {2}return total > freeFrom \? 0 : 490;\n\+ {2}return total >= freeFrom \? 0 : 490;$/m);
  expect(stdout).toMatch(/^Files\tsrc\/shipping\.js\n# pass 4\n# fail 0$/m);
});

/** The demo of an agent on a terminal, when it asks for permission. Its folder for temporary files is `temporary`. */
async function askedOnTerminal() {
  const temporary = await temporaryFolder();
  const demo = path.join(project, 'examples', 'failing-test', 'demo.js');
  const env = { ...demoEnvironment(), TMPDIR: temporary };
  const screen = new Screen(process.execPath, [demo, 'example'], { cwd: temporary, env, columns: 80 });
  afterTest(() => kill(screen.pid, 'SIGINT'));
  for (const step of ['$ aops local up', '$ aops agents create', '$ aops runs start', '+  return total >= freeFrom ? 0 : 490;'])
    await screen.shows(step);
  await screen.asks('Leave it pending');
  return { screen, temporary };
}

it('changes nothing if a person denies it at the terminal', async () => {
  const { screen, temporary } = await askedOnTerminal();
  screen.type(keys.down, keys.down, keys.enter);
  await screen.shows('I changed nothing.');
  await screen.shows('The agent changed nothing, so the test still fails.');
  expect(await screen.exit).toBe(0);
  expect(screen.text).not.toContain('sandbox apply');
  expect(await readdir(temporary)).toEqual([]);
});

it('leaves nothing behind when Ctrl-C is pressed while the agent waits for permission', async () => {
  const { screen, temporary } = await askedOnTerminal();
  screen.type(keys.ctrlC);
  await screen.shows('Stopped the local service');
  expect(await screen.exit).toBe(130);
  expect(await readdir(temporary)).toEqual([]);
});

it('explains how to install a real agent that was requested', async () => {
  // Neither agents nor bubblewrap are on the search path, so the service is started again without containment.
  const programs = await temporaryFolder();
  for (const program of ['node', 'git', 'grep'])
    await symlink((await execute('/bin/sh', ['-c', `command -v ${program}`])).stdout.trim(), path.join(programs, program));
  const { code, stderr, remainingFiles } = await demonstrate('failing-test', ['claude'], { PATH: programs });
  expect({ code, remainingFiles }, stderr).toEqual({ code: 2, remainingFiles: [] });
  expect(stderr).toContain('$ aops local up --ephemeral --exec host');
  expect(stderr).toContain('error: Claude Agent is not installed. To install it, run `npm install --global');
});

it('leaves nothing behind when its output is not read to the end', async () => {
  const folder = await temporaryFolder();
  const child = spawn(process.execPath, [path.join(project, 'examples', 'invoice-check', 'demo.js')], {
    env: { ...demoEnvironment(), TMPDIR: folder, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Like `head -1`.
  child.stderr.once('data', () => {
    child.stdout.destroy();
    child.stderr.destroy();
  });
  await new Promise((resolve) => child.once('exit', resolve));
  expect(await readdir(folder)).toEqual([]);
});

it('works through a queue: pays, asks, postpones, calls a webhook, is evaluated, and leaves only a page behind', async () => {
  const output = await temporaryFolder();
  const { code, stdout, stderr, remainingFiles } = await demonstrate('invoice-queue', [output]);
  expect({ code, remainingFiles }, stderr).toEqual({ code: 0, remainingFiles: [] });
  const cases = [...stdout.matchAll(/^[\w-]{36}\t(\w+)\tnone\t([^\t\n]+)/gm)].map(([, status, title]) => `${title}: ${status}`).reverse();
  expect(cases).toEqual([
    '86 EUR to Sommer: completed',
    '389 EUR to Nexo: completed',
    '2180 EUR to Acme: completed',
    '119 EUR to Papyr: postponed',
    '4999 EUR to Lumo: failed',
    '42 EUR to Nexo: completed',
  ]);
  for (const answer of ['Approved: Pay 2180 EUR to Acme?', 'Denied: Pay 4999 EUR to Lumo?']) expect(stdout).toContain(answer);
  expect(stdout).toMatch(/\tfailed\t.*\tDenied by a person\.$/m);
  expect(stdout).toContain('Paid so far: 4 invoices, 2697 EUR.');
  expect(stdout).toMatch(/^passed\tcritical\tPays once/m);
  expect(stdout.match(/\tdelivered\tqueue\.case\.completed\t/g)).toHaveLength(4);
  expect(stdout).toMatch(/^Valid\ttrue$/m);
  const page = (await readFile(path.join(output, 'invoice-queue.html'), 'utf8')).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  expect(page).toContain('completed 4 failed 1 postponed 1 6 in total');
  expect(page).toContain('4999 EUR to Lumo invoices failed');
  expect(page).toContain('queue.case.completed 4 4 in total');
});

describeWithChromium('the check of a shop', () => {
  it('succeeds, and leaves only a film strip behind', async () => {
    const output = await temporaryFolder();
    const { code, stdout, remainingFiles } = await demonstrate('web-check', [output], { AOPS_CHROMIUM: windowedChromium as string });
    expect({ code, remainingFiles }).toEqual({ code: 0, remainingFiles: [] });
    expect(stdout).toContain('| Sourdough | 6.00 |');
    expect(stdout).toContain('takes orders: number B-2026-17.');
    expect(stdout).toContain('No script of the page complained.');
    const strip = await readFile(path.join(output, 'web-check.html'), 'utf8');
    for (const caption of ['The shop as a customer sees it', 'The order before it is sent', 'On a phone']) expect(strip).toContain(caption);
  });
});
