import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AgentHost, findInstallation } from '../../../../src/service/runtimes/acp/installation.ts';
import { acpAgent } from '../../../../src/service/runtimes/acp/registry.ts';
import { modelAgents } from '../../../agents/installed.ts';
import { itNeeding, needsPosix } from '../../../support/requirements.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';

const host: AgentHost = { searchPath: '', platform: 'linux', arch: 'x64', nodeVersion: '20.19.0', node: '/usr/bin/node' };
const agentsFolder = path.join(import.meta.dirname, '../../../agents');

/** A package in the folder's `node_modules`. Returns its folder. */
async function addPackage(folder: string, manifest: Record<string, unknown> | string, name = '@google/gemini-cli'): Promise<string> {
  const place = path.join(folder, 'node_modules', name);
  await mkdir(place, { recursive: true });
  await writeFile(path.join(place, 'package.json'), typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  await writeFile(path.join(place, 'gemini.js'), '#!/usr/bin/env node\n');
  await chmod(path.join(place, 'gemini.js'), 0o755);
  return place;
}

const manifest = { name: '@google/gemini-cli', version: '0.60.0', bin: { gemini: 'gemini.js' }, engines: { node: '>=20' } };

describe('an agent', () => {
  itNeeding(needsPosix, 'is found on the search path, with the version of the package to which its program leads', async () => {
    const folder = await temporaryDirectory();
    const place = await addPackage(folder, manifest);
    const bin = path.join(folder, 'bin');
    await mkdir(bin);
    await symlink(path.join(place, 'gemini.js'), path.join(bin, 'gemini'));
    const searchPath = ['relative', path.join(folder, 'missing'), bin].join(path.delimiter);
    expect(await findInstallation(acpAgent('gemini'), { ...host, searchPath })).toEqual({
      status: 'installed',
      command: [path.join(bin, 'gemini'), '--acp'],
      version: '0.60.0',
      warnings: [],
    });
  });

  itNeeding(needsPosix, 'is found on the search path without a package', async () => {
    const bin = await temporaryDirectory();
    await writeFile(path.join(bin, 'goose'), '', { mode: 0o755 });
    const installation = await findInstallation(acpAgent('goose'), { ...host, searchPath: bin });
    expect(installation).toEqual({ status: 'installed', command: [path.join(bin, 'goose'), 'acp'], version: null, warnings: [] });
  });

  it('is found as a package, whose script Node executes', async () => {
    const folder = await temporaryDirectory();
    const place = await addPackage(folder, manifest);
    const installation = await findInstallation(acpAgent('gemini'), { ...host, packageFolders: ['/nonexistent', folder] });
    expect(installation).toMatchObject({
      status: 'installed',
      command: ['/usr/bin/node', path.join(place, 'gemini.js'), '--acp'],
      version: '0.60.0',
    });
  });

  it.each([
    ['20.19.0', '>=20', false],
    ['20.19.0', '>=20.19.1', true],
    ['20.19.0', '>=22.0.0', true],
    ['20.19.0', '^18 || >=20.5', false],
    ['22.1.0', '>=20.19 <23', false],
    ['9.9.9', '>=20', true],
  ])('with Node %s and a package that declares %s, warns: %s', async (nodeVersion, range, warns) => {
    const folder = await temporaryDirectory();
    await addPackage(folder, { ...manifest, engines: { node: range } });
    const installation = await findInstallation(acpAgent('gemini'), { ...host, nodeVersion, packageFolders: [folder] });
    const warning = `Gemini CLI requires Node ${range}, but this is Node ${nodeVersion}.`;
    expect(installation).toMatchObject({ status: 'installed', warnings: warns ? [warning] : [] });
  });

  it.each([
    ['a damaged manifest', '{'],
    ['a manifest that is no object', 'null'],
    ['another package', { ...manifest, name: 'gemini' }],
    ['no program', { ...manifest, bin: null }],
  ])('is missing if its folder contains %s', async (_, contents) => {
    const folder = await temporaryDirectory();
    await addPackage(folder, contents);
    expect((await findInstallation(acpAgent('gemini'), { ...host, packageFolders: [folder] })).status).toBe('missing');
  });

  it('that is not installed comes with the command that installs it, and with what it needs', async () => {
    expect(await findInstallation(acpAgent('qwen'), host)).toMatchObject({
      status: 'missing',
      reason: 'not_installed',
      message:
        'Qwen Code is not installed: the program qwen was not found on the search path. Install it with: npm install --global @qwen-code/qwen-code@0.24.4\n' +
        'Qwen Code requires Node >=22, but this is Node 20.19.0.',
    });
  });

  it('that does not exist for this platform comes with the platforms for which it does', async () => {
    expect(await findInstallation(acpAgent('kimi'), { ...host, platform: 'freebsd' })).toMatchObject({
      status: 'missing',
      reason: 'unsupported_platform',
      message: 'Kimi CLI is not available for freebsd-x64, only for darwin-arm64, linux-arm64, linux-x64, win32-x64.',
    });
  });

  for (const agent of modelAgents.filter(({ name }) => name !== 'opencode')) {
    itNeeding(agent.missing, `that was really installed is found: ${agent.name}`, async () => {
      const entry = acpAgent(agent.name);
      const installation = await findInstallation(entry, { ...host, node: agent.command[0], packageFolders: [agentsFolder] });
      expect(installation).toEqual({ status: 'installed', command: agent.command, version: entry.version, warnings: [] });
    });
  }
});
