/** `aops inbox --all-profiles`: requests of several services and teams in one list. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { pendingRequests } from '../../src/cli/following/pending.ts';
import { defineCommand } from '../../src/cli/kit/command.ts';
import type { Access } from '../../src/commands/inbox/all-profiles.ts';
import { AllProfiles } from '../../src/commands/inbox/all-profiles.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let first: TestService;
let second: TestService;
beforeAll(async () => {
  [first, second] = await Promise.all([startTestService(), startTestService()]);
  await first.waiting('- approve: { id: ok, title: "Pay?" }');
  await second.waiting('- approve: { id: ok, title: "Ship?" }');
});

/** A machine with a profile for each service, another one for the first service, and optionally one that is not signed in. */
async function machine({ signedOut }: { signedOut: boolean }): Promise<Record<string, string>> {
  const env = folderEnv(await temporaryFolder());
  const services = { again: first, one: first, two: second };
  const entries = Object.entries(services).map(([name, { service }]) => [name, { base_url: service.url, team_id: service.teamId }]);
  const profiles = { ...Object.fromEntries(entries), ...(signedOut ? { old: { base_url: 'https://old.example', team_id: 't' } } : {}) };
  const credentials = Object.entries(services).map(([name, { service }]) => [
    name,
    { type: 'token', token: service.token, origin: service.url },
  ]);
  const folder = env.AOPS_CONFIG_DIR as string;
  await mkdir(folder);
  await writeFile(path.join(folder, 'config.json'), JSON.stringify({ current_profile: 'one', profiles }), { mode: 0o600 });
  await writeFile(path.join(folder, 'credentials.json'), JSON.stringify(Object.fromEntries(credentials)), { mode: 0o600 });
  return env;
}

const inbox = (env: Record<string, string>, ...flags: string[]): Promise<CliResult> =>
  runCli(['inbox', '--all-profiles', ...flags], { env });

describe('inbox --all-profiles', () => {
  it('lists each request once, with the profile it belongs to', async () => {
    // Variables for one service must not reach the others.
    const env = { ...(await machine({ signedOut: false })), AOPS_TEAM_ID: 'x', AOPS_API_KEY: 'other', AOPS_BASE_URL: 'https://x.example' };
    expect(await inbox(env, '--template', '{{ profile }} {{ title }}')).toMatchObject({
      code: 0,
      stdout: 'one Pay?\ntwo Ship?\n',
      stderr: '',
    });
    const table = await runCli(['inbox', '--all-profiles', '--no-input'], { env: { ...env, NO_COLOR: '1' }, tty: true });
    expect(table.stdout).toMatch(/^PROFILE .*\none .* Pay\? .*\ntwo .* Ship\? /);
    expect((await inbox(env, '--type', 'question', '--json')).json()).toMatchObject({ data: [], total: 0 });
  });

  it('reports a profile that cannot be read, and still shows the others', async () => {
    const listed = await inbox(await machine({ signedOut: true }), '--template', '{{ title }}');
    expect(listed).toMatchObject({ code: 4, stdout: 'Pay?\nShip?\n' });
    expect(listed.stderr).toContain('Profile "old": You are not signed in.\n');
    expect(listed.stderr).toContain('error: 1 profile of 4 could not be read.\n');
  });

  it('applies the filters in each profile', async () => {
    const env = await machine({ signedOut: false });
    expect((await inbox(env, '--type', 'approval', '--older-than', '0s', '-o', 'id')).stdout.trim().split('\n')).toHaveLength(2);
    expect(await inbox(env, '--older-than', '1h', '-o', 'id')).toMatchObject({ code: 0, stdout: '' });
  });

  it.each([
    ['--watch'],
    ['--notify'],
    ['--exec', 'true'],
    ['--watch', '--notify', '-o', 'json'],
    ['--run', '1'],
    ['--profile', 'one'],
    ['--team', 'x'],
    ['--base-url', 'https://x.example'],
  ])('cannot be combined with %s', async (...flags) => {
    const refusal = await inbox(await machine({ signedOut: false }), ...flags);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(`--all-profiles and ${flags[0]}`) });
  });

  it('needs a profile', async () => {
    expect(await inbox(folderEnv(await temporaryFolder()))).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('There are no profiles.'),
    });
  });

  it('answers with the profile of the request', async () => {
    const answered: Record<string, string> = {};
    const command = defineCommand({
      summary: 'Answer everything',
      examples: [{ command: 'aops answer', text: 'Answer everything' }],
      async run(context) {
        const read = ({ context: { teamId }, client }: Access) => pendingRequests(client, teamId(), {}, () => undefined);
        const profiles = new AllProfiles(context, read);
        for (const request of await profiles.load()) {
          const { client } = profiles.accessOf(request);
          answered[request.title] = client.baseUrl;
          await client.call('respondToHumanRequest', {
            params: { run_id: request.run_id, request_id: request.id },
            body: { approved: true },
          } as never);
        }
        await profiles.close();
        return undefined;
      },
    });
    const env = await machine({ signedOut: false });
    const tree = { answer: { summary: command.summary, load: async () => ({ default: command }) } };
    expect(await runCli(['answer'], { env, tree })).toMatchObject({ code: 0, stderr: '' });
    expect(answered).toEqual({ 'Pay?': first.service.url, 'Ship?': second.service.url });
    expect((await inbox(env, '-o', 'id')).stdout).toBe('');
  });
});
