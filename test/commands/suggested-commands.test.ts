/** The commands that aops suggests reach the same team as the command that suggests them. */
import { beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let run: string;
beforeAll(async () => {
  service = await startTestService();
  run = await service.waiting('- approve: { id: pay, title: "Pay?" }');
});

it('an error repeats the flags that select the team', async () => {
  const flags = ['--team', service.service.teamId];
  const hint = `Answer with \`aops ${flags.join(' ')} runs respond ${run} --approve\`, then continue with \`aops ${flags.join(' ')} runs watch ${run}\`.`;
  expect(await service.cli(['runs', 'watch', run, ...flags])).toMatchObject({ code: 12, stderr: expect.stringContaining(`hint: ${hint}`) });
  const { stderr } = await service.cli(['runs', 'watch', run, '--json', ...flags]);
  expect((JSON.parse(stderr.trimEnd().split('\n').at(-1) as string) as { error: { hint: string } }).error.hint).toBe(hint);
  expect((await service.cli(['runs', 'watch', run])).stderr).toContain(`Answer with \`aops runs respond ${run} --approve\``);
});

it('an explanation repeats them', async () => {
  const explained = await service.cli(['runs', 'explain', run, '--base-url', service.service.url, '--json']);
  const { next } = explained.json<{ next: { command: string }[] }>();
  expect(next.map(({ command }) => command)).toContain(`aops --base-url ${service.service.url} runs watch 1`);
});

it('so do the next steps of a queue and a case', async () => {
  const flags = ['--team', service.service.teamId];
  const again = `aops ${flags.join(' ')}`;
  await service.cli(['queues', 'create', 'refunds']);
  const agent = await service.agent('- approve: { id: pay, title: "Refund?" }');
  await service.cli(['agents', 'triggers', 'create', agent, '--queue', 'refunds']);
  const { stdout: id } = await service.cli(['cases', 'create', 'refunds', 'One', '-o', 'id']);
  await expect.poll(async () => (await service.cli(['queues', 'get', 'refunds', ...flags])).stdout).toContain(`${again} inbox\n`);
  const shown = await service.cli(['cases', 'get', id.trim(), ...flags]);
  expect(shown.stdout).toMatch(new RegExp(`${again} runs watch [\\w-]{36}\n`));
});

it('so does the doctor', async () => {
  await service.file('doctor/config.json', JSON.stringify({ profiles: { acme: { base_url: 'https://acme.example' } } }));
  const env = { AOPS_CONFIG_DIR: `${service.folder}/doctor`, AOPS_API_KEY: '', AOPS_BASE_URL: '', AOPS_TEAM_ID: '' };
  const { stdout } = await service.cli(['doctor', '--offline', '--profile', 'acme', '--json'], { env });
  const { checks } = JSON.parse(stdout) as { checks: { id: string; hint: string | null }[] };
  expect(checks.find(({ id }) => id === 'credential')?.hint).toContain('`aops --profile acme auth login`');
});
