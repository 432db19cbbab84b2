/** Command lines as nobody writes them: whatever their words are, none of them ends with an internal error. */
import { expect, it } from 'vitest';
import { type Argument, flagName, type Option } from '../../src/cli/kit/flags.ts';
import { globalFlags } from '../../src/cli/kit/global-flags.ts';
import { type LoadedCommand, loadAllCommands } from '../../src/cli/program/describe.ts';
import { commandTree } from '../../src/commands/index.ts';
import { randomFrom } from '../support/random.ts';
import { runCli } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** Commands that start or stop services, or wait for somebody. */
const excluded = /^(local (up|down|reset|restore|open)|serve|mcp serve|webhooks listen|agents test|auth login|extensions|plugins)\b/;
const commands = (await loadAllCommands(commandTree)).filter(({ path }) => !excluded.test(path.join(' ')));
const linesPerCommand = 3;

const numbers = ['', ' ', '0', '-1', '1', '1e9', '99999999999999999999', 'null', 'true', '[1]', '{"a":1}'];
const texts = [
  'x',
  'ü',
  '\u202ex',
  'a\nb',
  '\u001b[31mx',
  'x'.repeat(300),
  '%',
  '*',
  '.',
  'd/../x',
  'a/b',
  '-',
  '--',
  '@missing',
  '@f.json',
];
const words = ['a=b', '=b', '1h', 'now', '2026-01-01', 'daily', '0 9 * * *', '{{ id }}', '.data[0]', 'id,x.y', 'Go on?=Yes', 'GET'];
const addresses = ['/v2/teams/{team}', 'http://127.0.0.1:9/', '00000000-0000-4000-8000-000000000000'];
const files = ['f.json', 'rows.csv', 'procedure.yaml', 'binary', 'missing', '/dev/null'];
const odd = [...numbers, ...texts, ...words, ...addresses, ...files];

function acceptedBy(check?: (value: string) => unknown): string[] {
  const accepted = odd.filter((value) => {
    try {
      check?.(value);
      return true;
    } catch {
      return false;
    }
  });
  return accepted.length === 0 ? odd : accepted;
}

/** Values that exist in the service, by what completes them. */
async function existing(service: TestService): Promise<Record<string, string[]>> {
  const agent = await service.agent('- say: one\n- remember: { path: notes.md, content: x }', 'writer');
  const run = await service.run('- exec: { id: x, run: "echo hi > a.txt" }');
  await service.cli(['queues', 'create', 'invoices']);
  await service.cli(['queues', 'labels', 'create', 'invoices', 'urgent']);
  const cases = await service.cli(['cases', 'create', 'invoices', 'first', '-o', 'id']);
  const webhook = await service.cli(['webhooks', 'create', 'http://127.0.0.1:9/x', '-o', 'id']);
  await service.cli(['connections', 'create', 'tools', '--url', 'http://127.0.0.1:9/mcp']);
  await service.file('f.json', '{"a":1}');
  await service.file('rows.csv', 'message\nx\ny\n');
  await service.file('procedure.yaml', 'version: 1\nsteps:\n  - say: hi\n');
  await service.file('binary', Buffer.from([0xff, 0xfe, 0]));
  return {
    runs: [run, '1', '@latest', await service.waiting('- approve: { id: pay, title: "Pay?" }')],
    agents: [agent, 'writer'],
    queues: ['invoices'],
    cases: [cases.stdout.trim()],
    webhooks: [webhook.stdout.trim()],
    connections: ['tools'],
    revisions: ['latest', 'first'],
    labels: ['urgent'],
    memory: ['notes.md'],
    files,
    directories: ['.', 'missing', 'f.json'],
  };
}

it('none ends with an internal error, or with control characters in what it reports', async () => {
  const service = await startTestService({ exec: 'off', rateLimit: { limit: 1_000_000, windowSeconds: 60 } });
  const values = await existing(service);
  const random = randomFrom(20_261_128);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  /** Mostly a value that is accepted. */
  const valueFor = ({ choices, complete }: Pick<Option, 'choices' | 'complete'>, check?: (value: string) => unknown): string =>
    random() < 0.1 ? pick(odd) : pick(choices ?? (complete && values[complete]) ?? acceptedBy(check));
  const optionsFrom = (options: Record<string, Option>, share: number): string[] =>
    Object.entries(options).flatMap(([key, option]) => {
      if (!option.required && random() >= share) return [];
      return option.metavar === undefined ? [flagName(key)] : [flagName(key), valueFor(option, (value) => option.parse(value, 'it'))];
    });
  const { fields, jq, noInput, quiet, maxWait } = globalFlags;
  const lineFor = ({ path, command }: LoadedCommand): string[] => [
    ...[...path, '--json', '--timeout', '1s', ...(random() < 0.5 ? ['--yes'] : [])],
    ...optionsFrom({ ...(command.options as Record<string, Option>) }, 0.15),
    ...optionsFrom({ fields, jq, noInput, quiet, maxWait }, 0.05),
    ...Object.values((command.arguments ?? {}) as Record<string, Argument>).flatMap((argument) =>
      argument.required || random() < 0.7 ? [valueFor(argument, (value) => argument.check?.(value, 'it'))] : [],
    ),
  ];
  for (let round = 0; round < linesPerCommand; round++)
    for (const command of commands) {
      const line = lineFor(command);
      // What one of them configures does not concern the others.
      const env = { ...service.env, AOPS_CONFIG_DIR: `${service.folder}/config ${round} ${command.path.join(' ')}` };
      const { code, stderr } = await runCli(line, { cwd: service.folder, env });
      expect(stderr, JSON.stringify(line)).not.toMatch(/"code":"(unexpected|internal)|\n {4}at /);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: That is what must not be printed.
      expect(stderr, JSON.stringify(line)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/);
      expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], JSON.stringify(line)).toContain(code);
    }
});
