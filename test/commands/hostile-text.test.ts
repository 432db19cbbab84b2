/** Hostile text in every string of the contract, through every output: no sequence of it reaches the terminal. */
import type { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AopsError } from '../../src/base/errors.ts';
import type { AnyCommand } from '../../src/cli/kit/command.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import { wholeList } from '../../src/cli/kit/list.ts';
import { loadAllCommands } from '../../src/cli/program/describe.ts';
import { presentError, presentResult } from '../../src/cli/program/present.ts';
import { commandTree } from '../../src/commands/index.ts';
import { Drafts } from '../../src/terminal/prompting/drafts.ts';
import { createPrompter, type Prompter } from '../../src/terminal/prompts.ts';
import { expectHarmless, expectNoFakeHint, hostileText, makeHostile } from '../support/hostile-text.ts';
import { now, sampleOf } from '../support/samples.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';

const commands = (await loadAllCommands(commandTree)).filter(({ command }) => command.output !== undefined);
const colour = { TERM: 'xterm-256color', COLORTERM: 'truecolor', FORCE_HYPERLINK: '1', LANG: 'C.UTF-8' };

/** What a command prints for a result, with styles and links on a terminal. */
async function printResult({ output }: AnyCommand, result: unknown, tty: boolean, flags: object, format = 'table'): Promise<string> {
  const fake = fakeTerminal({ tty, columns: 80, env: tty ? colour : {} });
  const context = { terminal: fake.terminal, format, flags, clock: { now: () => now }, config: () => ({ pager: { value: undefined } }) };
  await presentResult(context as unknown as Context, output, result);
  await fake.terminal.flush();
  return fake.stdout() + fake.stderr();
}

describe.each(commands.map(({ path, command }): [string, AnyCommand] => [path.join(' '), command]))('aops %s', (_, command) => {
  const isList = command.output?.kind === 'list' || command.output?.kind === 'raw';
  const row = (seed: number): unknown => makeHostile(sampleOf(command, 'ordinary', seed));
  const result = (): unknown => (isList ? wholeList([row(1), row(2)]) : row(1));

  it('prints hostile text in any field as harmless text', async () => {
    for (const tty of [true, false]) expectHarmless(await printResult(command, result(), tty, {}), `tty ${tty}`);
    if (isList) expectNoFakeHint(await printResult(command, result(), false, {}));
  });

  it('prints hostile text in chosen fields as harmless text', async () => {
    const fields = Object.keys(row(1) as object).join(',');
    for (const tty of [true, false]) expectHarmless(await printResult(command, result(), tty, { fields }), `tty ${tty}`);
  });
});

it('prints no sequence of a result for programs on a terminal', async () => {
  const [first] = commands;
  const row = { id: hostileText, [hostileText]: hostileText, nested: { [hostileText]: [hostileText] } };
  for (const format of ['json', 'ndjson', 'yaml', 'csv', 'id'])
    expectHarmless(await printResult(first?.command as AnyCommand, row, true, {}, format), format);
  for (const jq of ['.', '.[]', 'keys']) expectHarmless(await printResult(first?.command as AnyCommand, row, true, { jq }), jq);
});

describe('an error', () => {
  const details = { status: 409, method: hostileText, path: hostileText, request_id: hostileText, idempotency_key: hostileText };
  const cause = new Error(hostileText);
  const error = (isChosen: boolean) =>
    new AopsError(hostileText, { code: hostileText, exit: 6, hint: hostileText, details, cause, isIntended: isChosen });

  it.each([error(false), error(true), new Error(hostileText, { cause }), hostileText])(
    'with hostile text in every member is harmless, on a terminal and in a log',
    async (error) => {
      for (const tty of [true, false]) {
        for (const debug of [true, false]) {
          for (const json of [true, false]) {
            const fake = fakeTerminal({ tty, env: colour });
            await presentError(fake.terminal, error, { json, debug });
            await fake.terminal.flush();
            expect(fake.stderr()).toContain('plain');
            expectHarmless(fake.stderr());
            if (!debug) expectNoFakeHint(fake.stderr());
          }
        }
      }
    },
  );
});

describe('a prompt', () => {
  const downKey = '\u001b[B';
  const question = { message: hostileText, above: hostileText, detail: hostileText, flag: hostileText };
  const choices = [1, 2].map((value) => ({ value, name: hostileText, description: hostileText }));

  it.each<[string, (prompter: Prompter) => Promise<unknown>, string]>([
    ['confirm', (prompter) => prompter.confirm(question), 'yes\r'],
    ['line', (prompter) => prompter.line(question), 'text\r'],
    ['password', (prompter) => prompter.password(question), 'text\r'],
    ['select', (prompter) => prompter.select({ ...question, choices }), `${downKey}\r`],
    ['search', (prompter) => prompter.search({ ...question, choices }), '\r'],
    ['checkbox', (prompter) => prompter.checkbox({ ...question, choices, required: true }), ' \r'],
    ['input', (prompter) => prompter.input(question), 'text\r'],
  ])('to %s shows hostile text as harmless text, before and after its answer', async (_, show, keys) => {
    const fake = fakeTerminal({ tty: true, columns: 80, env: colour });
    const prompter = createPrompter(fake.terminal, { clock: systemClock, drafts: new Drafts('/dev/null/drafts', systemClock) });
    const answer = show(prompter);
    await expect.poll(() => fake.stderr()).toContain('plain');
    for (const key of keys.endsWith('\r') ? [keys.slice(0, -1), '\r'] : [keys]) (fake.terminal.in.stream as PassThrough).write(key);
    await answer;
    expectHarmless(fake.stderr());
  });
});
