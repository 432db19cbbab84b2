/** Agents that are programs, as the service finds them on its machine. */
import { readdir, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CheckedProgram, CheckedTurn } from '../../../src/interface/types.ts';
import { acpAgent, acpRegistry } from '../../../src/service/runtimes/acp/registry.ts';
import { misbehaving } from '../../agents/installed.ts';
import { installAgent, installPackage } from '../../support/agent-programs.ts';
import { itNeeding, needsPosix } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { covers } from '../helpers/coverage.ts';
import { type Api, config, type TestOptions } from '../helpers/service.ts';

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
    const installedAgents = agents.filter(({ status }) => status === 'installed');
    expect(installedAgents).toMatchObject([
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

  it('are an empty list in a service without the runtime that executes them', async () => {
    expect(await (await start()).ok('listAcpAgents')).toEqual({ agents: [] });
  });

  it('can be listed by whoever can read agents', async () => {
    const api = await start();
    expect((await (await api.withToken({ scopes: ['runs:write'] })).call('listAcpAgents')).status).toBe(403);
    expect((await (await api.withToken({ scopes: ['runs:read'] })).call('listAcpAgents')).status).toBe(200);
  });
});

describe('a check', () => {
  const check = (api: Api, body: object) => api.call('checkAgent', { params: { teamId: api.service.teamId }, body });
  const definition = (fields: object) => config(JSON.stringify({ version: 1, ...fields }), 'acp');

  it('reports a program, and leaves no run and no file', async () => {
    const api = await serviceWith({ exec: 'host' });
    const answer = await check(api, { config: definition({ command: misbehaving('asks-nobody') }) });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({
      ...{ usable: true, runtime: 'acp', problem: null, warnings: [] },
      program: {
        command: [...misbehaving('asks-nobody')],
        ...{ exec_level: 'host', name: 'Misbehaving agent', version: '1.2.3', protocol_version: 1 },
        start_milliseconds: expect.any(Number),
        ...{ mode: 'ask', asks: true },
        modes: [
          { id: 'auto', name: 'Automatic' },
          { id: 'ask', name: 'Ask for permissions' },
        ],
        ...{ can_resume: true, can_load: true, can_use_tools: true },
        ...{ credential: null, signed_in: null, sign_in_methods: [], turn: null },
      },
    });
    expect((await api.ok('listRuns')).data).toEqual([]);
    expect(await readdir(path.join(api.dataDirectory, 'sandboxes'))).toEqual([]);
  });

  it('of an agent uses its live revision and its secrets', async () => {
    const api = await serviceWith({ exec: 'host' });
    const body = { name: 'fixer', build: { name: 'first', config: definition({ command: misbehaving('text'), secrets: ['API_KEY'] }) } };
    const { agent } = await api.ok('createAgent', { body });
    expect((await check(api, { agent_id: agent.id })).body).toMatchObject({
      usable: false,
      problem: { code: 'secret_missing', message: expect.stringContaining('--secret API_KEY=@FILE') },
    });
    await api.ok('setAgentSecret', { params: { agent_id: agent.id }, body: { name: 'API_KEY', value: 'the-value-of-the-key' } });
    expect((await check(api, { agent_id: agent.id })).body).toMatchObject({ usable: true });
    const config = definition({ command: misbehaving('environment'), secrets: ['API_KEY', 'OTHER_KEY'] });
    const other = await check(api, { agent_id: agent.id, config, secrets: { OTHER_KEY: 'value', UNLISTED: 'value' }, turn: true });
    const { text } = (other.body as { program: CheckedProgram }).program.turn as CheckedTurn;
    expect((JSON.parse(text) as { names: string[] }).names).toEqual(expect.arrayContaining(['API_KEY', 'OTHER_KEY']));
    expect(text).not.toContain('UNLISTED');
    expect((await api.ok('listAgentSecrets', { params: { agent_id: agent.id } })).secrets).toHaveLength(1);
  });

  it('of a procedure only validates it', async () => {
    const api = await serviceWith({});
    const valid = await check(api, { config: config('version: 1\nsteps:\n  - say: Hello\n', 'script') });
    expect(valid.body).toEqual({ usable: true, runtime: 'script', problem: null, warnings: [], program: null });
    expect(await check(api, { config: config('version: 1\nsteps:\n  - sya: Hello\n', 'script') })).toMatchObject({
      status: 400,
      body: { error: 'invalid_procedure', details: [{ line: 3, column: 5 }] },
    });
    const needy = 'version: 1\nsteps:\n  - tool: { connection: crm, name: list }\n';
    expect((await check(api, { config: config(needy, 'script') })).body).toMatchObject({
      usable: false,
      problem: { code: 'connection_missing', message: expect.stringContaining('There is no connection crm') },
    });
    const connection = {
      name: 'crm',
      type: 'custom_mcp',
      provider: 'user',
      auth_method: 'url',
      server_url: 'http://127.0.0.1:9/mcp',
    } as const;
    const { id } = await api.ok('createConnection', { body: connection });
    for (const word of ['crm', id])
      expect((await check(api, { config: config(needy.replace('crm', word), 'script') })).body).toMatchObject({ usable: true });
  });

  it('needs the permission to create agents', async () => {
    const api = await serviceWith({ exec: 'host' });
    const limited = await api.withToken({ scopes: ['runs:read', 'runs:write'] });
    expect((await check(limited, { config: definition({ command: misbehaving('text') }) })).status).toBe(403);
  });

  it('refuses agents of other teams, agents without a procedure, and nothing at all', async () => {
    const api = await serviceWith({ exec: 'host' });
    const { agent } = await api.ok('createAgent', { body: { name: 'empty' } });
    expect(await check(api, { agent_id: agent.id })).toMatchObject({ status: 409, body: { error: 'agent_has_no_live_revision' } });
    expect(await check(api, {})).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    const stranger = await api.inNewTeam();
    expect(await check(stranger, { agent_id: agent.id, config: definition({ command: misbehaving('text') }) })).toMatchObject({
      status: 404,
    });
  });

  it('starts nothing while the service runs no commands', async () => {
    const answer = await check(await serviceWith({ exec: 'off' }), { config: definition({ command: misbehaving('text') }) });
    expect(answer.body).toMatchObject({
      usable: false,
      problem: { code: 'not_permitted', message: expect.stringContaining('--exec') },
      program: { exec_level: 'off', name: null },
    });
  });
});
