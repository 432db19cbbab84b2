/** The commands that show and operate runs show those of agents that are processes, with their permissions. */
import { beforeAll, expect, it } from 'vitest';
import { misbehaving } from '../agents/installed.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const command = misbehaving('well-behaved').join(' ');
  expect((await service.cli(['agents', 'create', 'writer', '--acp-command', command])).code).toBe(0);
});

const start = async (message: string): Promise<string> => {
  const { stdout } = await service.cli(['runs', 'start', '--agent', 'writer', '--message', message, '-o', 'id']);
  await service.until(stdout.trim(), 'waiting');
  return stdout.trim();
};

it('the inbox shows a permission with its diff, and a watched run ends with it', async () => {
  const run = await start('From the inbox');
  const inbox = await service.cli(['inbox', '--json']);
  expect(JSON.stringify(inbox.json())).toContain('+From the inbox');
  const watched = await service.cli(['runs', 'watch', run]);
  expect(watched).toMatchObject({ code: 12 });
  expect(watched.stdout).toContain('? Write result.txt');
});

it('the runtime is part of the plugin catalogue', async () => {
  const { stdout } = await service.cli(['plugins', 'list', '--jq', '.data[] | select(.type == "runtime") | .name']);
  expect(stdout.split('\n')).toContain('acp');
});

it('a revision of an agent is promoted, and its next run uses it', async () => {
  const commandOf = (mode: string) => misbehaving(mode).join(' ');
  expect((await service.cli(['agents', 'create', 'promoted', '--acp-command', commandOf('refusal')])).code).toBe(0);
  const file = await service.file('text.yaml', `version: 1\ncommand: [${misbehaving('text').join(', ')}]\n`);
  const created = await service.cli(['revisions', 'create', 'promoted', '--procedure', file, '--runtime', 'acp']);
  expect(created).toMatchObject({ code: 0 });
  expect(await service.cli(['revisions', 'promote', 'promoted@latest', '--yes'])).toMatchObject({ code: 0 });
  const { stdout } = await service.cli(['runs', 'start', '--agent', 'promoted', '--message', 'Hello', '-o', 'id']);
  await service.until(stdout.trim(), 'completed');
});
