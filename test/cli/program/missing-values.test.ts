/** An option in place of the value of another one, as with a variable that is not set. */
import { describe, expect, it } from 'vitest';
import { flagName, type Options } from '../../../src/cli/kit/flags.ts';
import { changeFlags, globalFlags } from '../../../src/cli/kit/global-flags.ts';
import { loadAllCommands } from '../../../src/cli/program/describe.ts';
import { optionsOf, requireValues } from '../../../src/cli/program/parser.ts';
import { commandTree } from '../../../src/commands/index.ts';
import { runCli } from '../../support/run-cli.ts';
import { folderEnv } from '../../support/service.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const env = folderEnv(await temporaryFolder());
const unset = 'If the value comes from a variable, the variable is not set.';

describe('an option that needs a value', () => {
  it.each([
    [['runs', 'start', '--agent', 'A', '--message', '--watch'], '--message', '--watch', '--message=--watch'],
    [['runs', 'start', '--agent', '--message', 'Hi'], '--agent', '--message', '--agent=--message'],
    [['runs', 'start', '--profile', '-y', '--agent', 'A'], '--profile', '-y', '--profile=-y'],
    [['--team', '--json=x', 'runs', 'list'], '--team', '--json=x', '--team=--json=x'],
    [['runs', 'list', '--jq', '-h'], '--jq', '-h', '--jq=-h'],
    [['runs', 'start', '--message', '--idempotency-key', 'k'], '--message', '--idempotency-key', '--message=--idempotency-key'],
  ])('is not satisfied with the option that follows: %j', async (args, flag, next, joined) => {
    const { code, stdout, stderr } = await runCli(args, { env });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${flag} needs a value, but the option ${next} follows.\nhint: ${unset} If it is the value, write \`${joined}\`.\n`,
    });
  });

  it('accepts what looks like an option behind an equals sign, and after the end of the options', async () => {
    const { code, stdout } = await runCli(['alias', 'set', 'mine', '--', 'runs list --jq --json'], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining('mine')]);
    const start = ['runs', 'start', '--agent', '01a22910-8f98-7ae0-ade5-026950d95131', '--message=--watch', '--dry-run'];
    const account = ['--base-url', 'http://127.0.0.1:9', '--team', 'T'];
    const { stderr } = await runCli([...start, ...account], { env: { ...env, AOPS_TOKEN: 'test' } });
    expect(stderr).not.toContain('needs a value');
  });

  it('accepts everything that is not an option of the command', () => {
    const options = { ...globalFlags, ...changeFlags };
    for (const value of ['-', '-1', '-x', '--', '--watch', '---', '--jsonx', '-yq', 'json', ''])
      expect(() => requireValues(['--team', value], options)).not.toThrow();
    expect(() => requireValues(['--team', 'a', '--json', '--quiet'], options)).not.toThrow();
    expect(() => requireValues(['--', '--team', '--json'], options)).not.toThrow();
  });

  it('is checked in every command, whatever other option follows', async () => {
    for (const { path, command } of await loadAllCommands(commandTree)) {
      const options: Options = optionsOf(command);
      const words = Object.entries(options).flatMap(([key, { short, negatable, aliases = [] }]) => [
        ...[key, ...aliases, ...(negatable ? [`no-${key}`] : [])].map(flagName),
        ...(short === undefined ? [] : [`-${short}`]),
      ]);
      for (const [key, { metavar }] of Object.entries(options))
        for (const word of words) {
          const check = () => requireValues([...path, flagName(key), word], options);
          if (metavar === undefined) expect(check, `${path.join(' ')} ${key} ${word}`).not.toThrow();
          else expect(check, `${path.join(' ')} ${key} ${word}`).toThrow('needs a value');
        }
    }
  });
});
