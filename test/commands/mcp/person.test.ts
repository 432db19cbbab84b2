/** `mcp call respond_to_human_request`: only a person whom it can prompt answers; anything else is refused before a request is sent. */
import { expect, it } from 'vitest';
import type { Context } from '../../../src/cli/kit/context.ts';
import { answerAsPerson } from '../../../src/commands/mcp/person.ts';
import { fakeTerminal } from '../../terminal/fake-streams.ts';

const run = '01a21d96-f137-73e7-ad4c-c280b6edcba6';

interface Circumstances {
  tty?: { stdin?: boolean; stdout?: boolean; stderr?: boolean };
  env?: Record<string, string>;
  format?: string;
  flags?: object;
}

/** What the command does, and the operations that it calls. */
async function attempt({ tty, env = {}, format = 'table', flags = {} }: Circumstances, args: Record<string, unknown> = { run_id: run }) {
  const operations: string[] = [];
  const call = async (operation: string) => {
    operations.push(operation);
    return { run: { id: run }, pending_human_request: null };
  };
  const { terminal } = fakeTerminal({ tty: { stdin: true, stdout: true, stderr: true, ...tty }, env });
  const context = { terminal, format, flags, client: async () => ({ call }) } as unknown as Context;
  const code = await answerAsPerson(context, args).catch((error) => error.code);
  return { code, operations };
}

it('reads the request for a person at a terminal', async () => {
  expect(await attempt({})).toEqual({ code: 'run_not_waiting', operations: ['getRun'] });
});

it.each<[string, Circumstances]>([
  ['the standard input is not a terminal', { tty: { stdin: false } }],
  ['the standard output is not a terminal', { tty: { stdout: false } }],
  ['the standard error is not a terminal', { tty: { stderr: false } }],
  ['it runs in CI', { env: { CI: 'true' } }],
  ['a program reads the result', { format: 'json' }],
  ['the result is reshaped', { flags: { jq: '.' } }],
  ['it is a dry run', { flags: { dryRun: true } }],
  ['--yes is passed', { flags: { yes: true } }],
])('sends nothing if %s', async (_, circumstances) => {
  expect(await attempt(circumstances)).toEqual({ code: 'person_required', operations: [] });
});

it.each([{ run_id: run, approved: true }, { run_id: '7' }, {}])('sends nothing for the arguments %j', async (args) => {
  expect(await attempt({}, args)).toEqual({ code: 'usage', operations: [] });
});
