import { copyFile, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { Containment, type ExecSetting } from '../../../src/service/contained/containment.ts';
import { demonstrate } from '../../../src/service/contained/demonstration.ts';
import { type NamespaceFacts, startShortfall } from '../../../src/service/contained/shortfall.ts';
import { trialShortfall } from '../../../src/service/contained/trial.ts';
import { hostLauncher } from '../../../src/service/sandbox/launch.ts';
import { ContainedRuns, listening, needsContainment } from '../../support/contained.ts';
import { itNeeding } from '../../support/requirements.ts';
import { afterTest, temporaryFolder } from '../../support/temporary.ts';

const containment = async (setting: ExecSetting, searchPath = process.env.PATH ?? ''): Promise<Containment> =>
  new Containment({ setting, dataDirectory: await temporaryFolder(), searchPath, node: process.execPath });

it.each(['auto', 'contained', 'off'] as const)('is off before anything was demonstrated (%s)', async (setting) => {
  const { level, refusal } = { level: (await containment(setting)).level, refusal: (await containment(setting)).refusal() };
  expect(level).toBe('off');
  expect(refusal).toContain('--exec host');
});

it('refuses to prepare a program while it is off', async () => {
  const off = await containment('off');
  const request = { program: '/bin/true', args: [], environment: {}, directory: '/', home: '/', temporary: '/tmp' };
  await expect(off.prepare(request)).rejects.toMatchObject({ status: 403, error: 'exec_off' });
});

itNeeding(needsContainment, 'is contained after the demonstration, which leaves nothing behind', async () => {
  const runs = await ContainedRuns.start();
  expect(runs.containment).toMatchObject({ level: 'contained', shortfall: undefined });
  expect(runs.containment.refusal()).toBeUndefined();
  expect((await readdir(path.join(runs.dataDirectory, 'contained'))).sort()).toEqual(['group', 'passwd']);
  expect(await readdir(runs.dataDirectory)).toEqual(['contained']);
});

itNeeding(needsContainment, 'is contained with a Node below /tmp, where each program has its own files', async () => {
  const folder = await mkdtemp('/tmp/aops-node-');
  afterTest(() => rm(folder, { recursive: true }));
  const node = path.join(folder, 'node');
  await copyFile(process.execPath, node);
  const options = { dataDirectory: await temporaryFolder(), searchPath: process.env.PATH ?? '', node };
  expect(await trialShortfall(options)).toBeUndefined();
});

describe('without bubblewrap', () => {
  const missing = async (setting: ExecSetting): Promise<Containment> =>
    new Containment({
      setting,
      dataDirectory: await temporaryFolder(),
      searchPath: '/nowhere',
      programFolders: [],
      node: process.execPath,
    });

  it('stays off with the setting auto, and says what is missing and what to do', async () => {
    const auto = await missing('auto');
    await auto.start('127.0.0.1', 1);
    expect(auto.level).toBe('off');
    expect(auto.refusal()).toBe(
      'This service does not run commands, because they cannot be contained: bubblewrap (bwrap) is not installed. Install it, for example with `apt-get install bubblewrap`, and restart the service. Or use `--exec host`, which runs commands as you, without isolation.',
    );
  });

  it('does not start with the setting contained', async () => {
    const containedProblem = await missing('contained');
    await expect(containedProblem.start('127.0.0.1', 1)).rejects.toMatchObject({ code: 'containment_unavailable', exit: 1 });
    expect(containedProblem.level).toBe('off');
  });
});

describe('on a system other than Linux', () => {
  const options = async (setting: ExecSetting, platform: NodeJS.Platform) => ({
    ...{ setting, platform, dataDirectory: await temporaryFolder(), searchPath: process.env.PATH ?? '', node: process.execPath },
  });

  it.each([
    ['darwin', 'macOS'],
    ['win32', 'Windows'],
    ['freebsd', 'freebsd'],
  ] as const)('is off with the setting auto, and reports why: %s', async (platform, name) => {
    const auto = new Containment(await options('auto', platform));
    await auto.start('127.0.0.1', 1);
    expect(auto.level).toBe('off');
    expect(auto.refusal()).toBe(
      `This service does not run commands, because they cannot be contained: commands are only contained on Linux, and this is ${name}. Run the service on Linux, for example in a virtual machine. Or use \`--exec host\`, which runs commands as you, without isolation.`,
    );
  });

  it('does not start with the setting contained, and is never reported as contained', async () => {
    const contained = new Containment(await options('contained', 'darwin'));
    await expect(contained.start('127.0.0.1', 1)).rejects.toMatchObject({ code: 'containment_unavailable', exit: 1 });
    expect(contained.level).toBe('off');
  });
});

describe('the remedy for a sandbox that cannot be created', () => {
  const facts: NamespaceFacts = { areDisabled: false, areRestricted: false, isContainer: false };
  it.each([
    ['in a container', { ...facts, isContainer: true, areDisabled: true }, '--security-opt seccomp=unconfined'],
    ['with user namespaces turned off', { ...facts, areDisabled: true }, 'user.max_user_namespaces'],
    ['restricted by AppArmor', { ...facts, areRestricted: true }, 'bwrap-userns-restrict'],
    ['for another reason', facts, 'Check that `bwrap'],
  ])('%s', (_, expectedProblem, remedy) => {
    const shortfall = startShortfall('bwrap: No permissions to create new namespace\nmore', expectedProblem);
    expect(shortfall.missing).toBe('bubblewrap cannot create a sandbox (bwrap: No permissions to create new namespace)');
    expect(shortfall.remedy).toContain(remedy);
    expect(shortfall.remedy).toContain('Or use `--exec host`, which runs commands as you, without isolation.');
  });
});

itNeeding(
  needsContainment,
  'passes the environment to the program only, because LD_PRELOAD would run code outside the sandbox',
  async () => {
    const runs = await ContainedRuns.start();
    const request = await runs.request('env');
    const environment = {
      PATH: process.env.PATH ?? '',
      SECRET: "two lines\nof 'text'",
      LD_PRELOAD: '/nowhere/evil.so',
      ENV: '/nowhere/evil.sh',
    };
    const launch = await runs.containment.prepare({ ...request, environment });
    await launch.release();
    expect(launch.environment).toEqual({});
    expect(launch.args.join(' ')).not.toMatch(/SECRET|evil/);
    const { stdout } = await runs.run('env; tr "\\0" "\\n" < /proc/1/environ | grep -c evil', { environment });
    expect(stdout).toContain("SECRET=two lines\nof 'text'\n");
    expect(stdout).toContain('LD_PRELOAD=/nowhere/evil.so\n');
    await expect(runs.containment.prepare({ ...request, environment: { 'A=B': 'x' } })).rejects.toMatchObject({ error: 'launch_refused' });
  },
);

itNeeding(needsContainment, 'refuses folders that are links, and folders that contain the data directory', async () => {
  const runs = await ContainedRuns.start();
  const request = await runs.request('true');
  await symlink('/', path.join(runs.dataDirectory, 'link'));
  for (const change of [
    { directory: path.join(runs.dataDirectory, 'link') },
    { readable: [path.dirname(runs.dataDirectory)] },
    { writable: ['/'] },
  ])
    await expect(runs.containment.prepare({ ...request, ...change })).rejects.toMatchObject({ status: 400, error: 'launch_refused' });
});

itNeeding(needsContainment, 'refuses files of the service, of other runs, and those that other users cannot read', async () => {
  const runs = await ContainedRuns.start();
  const request = await runs.request('true');
  const folder = await temporaryFolder();
  const [token, secret, link] = [path.join(runs.dataDirectory, 'token'), path.join(folder, 'secret'), path.join(folder, 'link')];
  await writeFile(token, 'token');
  await writeFile(secret, 'secret', { mode: 0o640 });
  await symlink('/etc/passwd', link);
  const other = await runs.folder('other');
  const refusals = [
    { readable: [token] },
    { readable: [other] },
    { writable: [other] },
    { readable: [secret] },
    { readable: [link] },
    { readable: ['/nowhere'] },
  ];
  for (const change of refusals)
    await expect(runs.containment.prepare({ ...request, ...change })).rejects.toMatchObject({ status: 400, error: 'launch_refused' });
});

itNeeding(needsContainment, 'shows readable folders and nothing next to them', async () => {
  const runs = await ContainedRuns.start();
  const folder = await realpath(await temporaryFolder());
  await writeFile(path.join(folder, 'program'), 'content');
  await mkdir(path.join(folder, 'inside'));
  const { stdout } = await runs.run(`ls ${folder}; touch ${folder}/inside/x || echo read-only`, {
    readable: [path.join(folder, 'inside')],
  });
  expect(stdout).toBe('inside\nread-only\n');
});

it('notices in the demonstration that a program at the level host is not contained', async () => {
  const { port } = await listening();
  const dataDirectory = await temporaryFolder();
  const options = { dataDirectory, node: process.execPath, searchPath: process.env.PATH ?? '', host: '127.0.0.1', port };
  const shortfall = await demonstrate((request) => hostLauncher.prepare(request), options);
  expect(shortfall?.missing).toContain('could read the data directory, and');
  expect(shortfall?.missing).toContain('could connect to the service, and could write outside its folders');
  expect(await readdir(dataDirectory)).toEqual(['contained']);
});
