/** The team that `auth login` selects: the only one that the credential can use, or one that a person chooses. */
import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/cli/kit/context.ts';
import type { Client } from '../../src/client/client.ts';
import { chooseTeam } from '../../src/commands/auth/choose-team.ts';
import { type ForeignRoutes, ForeignService } from '../support/foreign-service.ts';
import { prompting } from '../support/open-prompts.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const team = (id: string, name: string) => ({
  id,
  name,
  created_at: '2026-07-18T00:00:00Z',
  organization_id: null,
  slack_team_id: null,
  discovery_mode: 'private',
});
const teams = [team('00000000-0000-4000-8000-00000000000a', 'Finance'), team('00000000-0000-4000-8000-00000000000b', 'Support')];
const listOf = (rows: typeof teams): ForeignRoutes => ({
  'GET /v2/teams': ({ query }) => ({ teams: rows.slice(Number(query.get('offset') ?? 0)), total: rows.length, limit: 100, offset: 0 }),
  'GET /v2/teams/:id': (_, id) => ({ team: rows.find((row) => row.id === id) }),
});

async function login(url: string, ...flags: string[]): Promise<CliResult> {
  const env = folderEnv(await temporaryFolder());
  return runCli(['auth', 'login', '--base-url', url, '--json', ...flags], { env, stdin: 'a-key' });
}

describe('auth login without --team', () => {
  it('selects the only team that the credential can use', async () => {
    const { service } = await startTestService();
    const env = folderEnv(await temporaryFolder());
    const signedIn = await runCli(['auth', 'login', '--base-url', service.url], { env, stdin: service.token });
    expect(signedIn).toMatchObject({ code: 0, stdout: `Signed in to ${service.url} as profile "default" (team Local).\n` });
    expect((await runCli(['teams', 'list', '--template', '{{ name }} {{ id }}'], { env })).stdout).toBe(`Local ${service.teamId}\n`);
    expect((await runCli(['teams', 'list', '--offset', '1', '--json'], { env })).json()).toMatchObject({ data: [], total: 1 });
  });

  it('lists several teams if there is no terminal, and saves nothing', async () => {
    const { url } = await ForeignService.start(listOf(teams));
    const refusal = await login(url);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(refusal.stderr).error).toMatchObject({
      code: 'team_missing',
      hint: `Pass one of them with --team: ${teams.map(({ id, name }) => `${id} (${name})`).join(', ')}.`,
    });
    expect((await login(url, '--team', teams[1]?.id as string)).json()).toMatchObject({ team: 'Support', team_id: teams[1]?.id });
  });

  it('reports a credential that cannot use any team', async () => {
    const { url } = await ForeignService.start(listOf([]));
    expect(await login(url)).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('no_team') });
  });

  it('needs --team for a service that does not list teams', async () => {
    const { url } = await ForeignService.start({ 'GET /v2/teams/:id': () => ({ team: teams[0] }) });
    const refusal = await login(url);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Pass it with --team.') });
    expect((await login(url, '--team', teams[0]?.id as string)).json()).toMatchObject({ team: 'Finance' });
  });

  it('lets a person choose on a terminal', async () => {
    const { terminal, prompter, shows, press } = prompting();
    const client = { call: async () => ({ teams, total: 2, limit: 100, offset: 0 }) } as unknown as Client;
    const context = { terminal, prompter, signal: new AbortController().signal } as unknown as Context;
    const choice = chooseTeam(context, client, undefined, () => Promise.reject(new Error('asked for an ID')));
    await shows('Finance');
    await shows('Support');
    await press('\u001b[B', '\r');
    expect((await choice).name).toBe('Support');
  });
});
