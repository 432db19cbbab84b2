/** Events in the form that flags ask for: what a terminal and a program get, and what happens if one cannot be printed. */
import { describe, expect, it } from 'vitest';
import { AopsError } from '../../../src/base/errors.ts';
import { eventWriter } from '../../../src/cli/following/event-writer.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import type { GlobalFlags } from '../../../src/cli/kit/global-flags.ts';
import type { Terminal } from '../../../src/terminal/streams.ts';
import { fakeTerminal, hostileInput, sanitizedHostileText } from '../../terminal/fake-streams.ts';

const event = { seq: 7, type: 'message', data: { text: hostileInput } };
const contextOf = (terminal: Terminal, flags: Partial<GlobalFlags>): Context => ({ terminal, flags }) as unknown as Context;

describe('an event in another form', () => {
  it.each<[Partial<GlobalFlags>]>([[{ jq: '.data.text' }], [{ template: '{{ data.text }}' }]])(
    'is harmless on a terminal, and exact for a program: %o',
    async (flags) => {
      for (const [tty, text] of [
        [true, sanitizedHostileText],
        [false, hostileInput],
      ] as const) {
        const { terminal, stdout } = fakeTerminal({ tty });
        await (await eventWriter(contextOf(terminal, flags)))(event);
        expect(stdout()).toBe(`${text}\n`);
      }
    },
  );

  it('is not printed if the template is empty for it', async () => {
    const { terminal, stdout } = fakeTerminal();
    const write = await eventWriter(contextOf(terminal, { template: '{% if seq == 8 %}{{ type }}{% endif %}' }));
    await write(event);
    await write({ ...event, seq: 8 });
    expect(stdout()).toBe('message\n');
  });

  it('is not blamed for an output that cannot be written', async () => {
    const failure = new AopsError('The disk is full.', { code: 'output_failed', exit: 1 });
    const terminal = { json: () => Promise.reject(failure) } as unknown as Terminal;
    const write = await eventWriter(contextOf(terminal, { fields: 'type' }));
    await expect(write(event)).rejects.toBe(failure);
  });
});
