import { beforeAll, describe, expect, it } from 'vitest';
import { acpAgent } from '../../src/service/runtimes/acp/registry.ts';
import { installAgent, installPackage } from '../support/agent-programs.ts';
import { describeNeeding, needsPosix } from '../support/requirements.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  const folder = await temporaryFolder();
  service = await startTestService({ commandPath: folder });
  await installPackage(folder, 'gemini', '0.60.0', '>=20');
  await installAgent(folder, 'goose');
});

const acp = (...argv: string[]) => service.cli(['agents', 'acp', ...argv]);

describeNeeding(needsPosix, 'agents acp list', () => {
  it('shows in 80 columns which agents are installed and which credential they need', async () => {
    const argv = ['agents', 'acp', 'list', '--color', 'never'];
    const { stdout, stderr, code } = await service.cli(argv, { tty: true, columns: 80 });
    expect(code).toBe(0);
    const [header, ...lines] = stdout.trimEnd().split('\n');
    expect(header).toMatch(/^ID +NAME +INSTALLED +CREDENTIAL$/);
    expect(lines).toContainEqual(expect.stringMatching(/^claude +Claude Agent +no +ANTHROPIC_API_KEY or/));
    expect(lines).toContainEqual(expect.stringMatching(/^gemini +Gemini CLI +0\.60\.0 +GEMINI_API_KEY$/));
    expect(lines).toContainEqual(expect.stringMatching(/^goose +\S+ +yes *$/));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('`aops agents acp get ID` shows how to install an agent');
  });

  it('shows how to install one if none is installed', async () => {
    const empty = await startTestService({ commandPath: await temporaryFolder() });
    const { code, stderr } = await empty.cli(['agents', 'acp', 'list']);
    expect(code).toBe(0);
    expect(stderr).toContain(`For claude: npm install --global @agentclientprotocol/claude-agent-acp@${acpAgent('claude').version}`);
    const installed = await empty.cli(['agents', 'acp', 'list', '--installed']);
    expect(installed).toMatchObject({ code: 0, stdout: '' });
    expect(installed.stderr).toContain('No such agent is installed on the machine of the service.');
  });

  it('prints installed agents alone, as data', async () => {
    const result = await acp('list', '--installed', '--json');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual(['gemini', 'goose']);
    const command = await acp('list', '--jq', '.data[] | select(.alias == "codex").install_command');
    expect(command.stdout).toBe(`npm install --global @agentclientprotocol/codex-acp@${acpAgent('codex').version}\n`);
  });
});

describe('agents acp get', () => {
  it.each(['claude', 'claude-acp'])('shows how to install %s and how to sign in', async (id) => {
    const { stdout } = await service.cli(['agents', 'acp', 'get', id, '--color', 'never'], { tty: true, columns: 120 });
    expect(stdout).toMatch(/^Installed: +no$/m);
    expect(stdout).toMatch(/^To install: +npm install --global @agentclientprotocol\/claude-agent-acp@[\d.]+$/m);
    expect(stdout).toMatch(/^To sign in: +Store an API key with --secret ANTHROPIC_API_KEY=@FILE/m);
  });

  it('refers to the website of an agent that is not an npm package', async () => {
    expect((await acp('get', 'kimi')).stdout).toContain(`See ${acpAgent('kimi').website}`);
  });

  it('suggests the nearest agent', async () => {
    const refusal = await acp('get', 'claud');
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain('The registry contains no agent "claud".');
    expect(refusal.stderr).toContain('Did you mean claude?');
  });
});
