/** Agents that are programs, as the service finds them on its machine. */
import { symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { acpAgent, acpRegistry } from '../../../src/service/runtimes/acp/registry.ts';
import { installAgent, installPackage } from '../../support/agent-programs.ts';
import { itNeeding, needsPosix } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { covers } from '../helpers/coverage.ts';
import type { Api, TestOptions } from '../helpers/service.ts';

const start = covers('acp');
/** A service with its usual runtimes. */
const serviceWith = (options: TestOptions): Promise<Api> => start({ ...options, runtimes: undefined } as TestOptions);

describe('the agents of the registry', () => {
  it('are listed with what each of them needs', async () => {
    const api = await serviceWith({ commandPath: await temporaryDirectory() });
    const { agents } = await api.ok('listAcpAgents');
    expect(agents.map(({ id }) => id)).toEqual(acpRegistry().agents.map(({ id }) => id));
    const { platforms } = acpAgent('claude').distribution;
    expect(agents[0]).toMatchObject({
      ...{ id: 'claude-acp', alias: 'claude', name: 'Claude Agent' },
      status: platforms.includes(`${os.platform()}-${os.arch()}`) ? 'not_installed' : 'unsupported_platform',
      ...{ installed_version: null, warnings: [], platforms },
      install_command: `npm install --global @agentclientprotocol/claude-agent-acp@${acpAgent('claude').version}`,
      credentials: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
      login: expect.stringContaining('--secret ANTHROPIC_API_KEY=@FILE'),
      hosts: ['api.anthropic.com'],
    });
    expect(agents.find(({ id }) => id === 'goose')).toMatchObject({ alias: null, install_command: null });
  });

  itNeeding(needsPosix, 'are searched for on the machine of the service', async () => {
    const folder = await temporaryDirectory();
    await installAgent(folder, 'goose');
    await installPackage(folder, 'gemini', '0.60.0', '>=21');
    await symlink(process.execPath, path.join(folder, 'node'));
    const api = await serviceWith({ commandPath: folder, node: process.execPath, nodeVersion: '20.19.0' });
    const { agents } = await api.ok('listAcpAgents');
    const installed = agents.filter(({ status }) => status === 'installed');
    expect(installed).toMatchObject([
      {
        id: 'gemini',
        installed_version: '0.60.0',
        warnings: ['Gemini CLI requires Node >=21, but this is Node 20.19.0.'],
      },
      { id: 'goose', installed_version: null, warnings: [] },
    ]);
  });

  itNeeding(needsPosix, 'come without a warning if another Node would execute them', async () => {
    const folder = await temporaryDirectory();
    await installPackage(folder, 'gemini', '0.60.0', '>=21');
    await symlink('/bin/sh', path.join(folder, 'node'));
    const api = await serviceWith({ commandPath: folder, node: process.execPath, nodeVersion: '20.19.0' });
    const { agents } = await api.ok('listAcpAgents');
    expect(agents.find(({ id }) => id === 'gemini')).toMatchObject({ status: 'installed', warnings: [] });
  });

  it('are none in a service without the runtime that executes them', async () => {
    expect(await (await start()).ok('listAcpAgents')).toEqual({ agents: [] });
  });

  it('can be listed by whoever can read agents', async () => {
    const api = await start();
    expect((await (await api.withToken({ scopes: ['runs:write'] })).call('listAcpAgents')).status).toBe(403);
    expect((await (await api.withToken({ scopes: ['runs:read'] })).call('listAcpAgents')).status).toBe(200);
  });
});
