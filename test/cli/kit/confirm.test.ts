/** Confirmation before something is destroyed, and the checks of values. */
import { describe, expect, it } from 'vitest';
import { absolutePath, length, uuid, webAddress } from '../../../src/cli/kit/checks.ts';
import { confirm } from '../../../src/cli/kit/confirm.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import { failureOf } from '../../client/harness.ts';

/** A context, and the questions that were asked there. */
function contextWith({ yes = false, interactive = true, agrees = false }) {
  const questions: object[] = [];
  const prompter = {
    confirm: async (question: object) => {
      questions.push(question);
      return agrees;
    },
  };
  return { context: { flags: { yes }, terminal: { interactive }, prompter } as unknown as Context, questions };
}

describe('confirmation', () => {
  it('is asked for on a terminal, where Enter alone does not confirm', async () => {
    const { context, questions } = contextWith({ agrees: true });
    await confirm(context, 'Delete it?');
    expect(questions).toEqual([{ message: 'Delete it?', initial: false }]);
  });

  it('can be refused', async () => {
    expect(await failureOf(confirm(contextWith({ agrees: false }).context, 'Delete it?'))).toMatchObject({
      ...{ code: 'not_confirmed', exit: 2, message: 'Nothing was changed, because you did not confirm.' },
    });
  });

  it('is impossible without a terminal', async () => {
    const { context, questions } = contextWith({ interactive: false, agrees: true });
    expect(await failureOf(confirm(context, 'Delete it?'))).toMatchObject({
      ...{ code: 'not_confirmed', exit: 2, hint: 'Pass --yes to confirm.', message: expect.stringContaining('Delete it?') },
    });
    expect(questions).toEqual([]);
  });

  it.each([true, false])('is given with --yes, without a question (terminal: %s)', async (interactive) => {
    const { context, questions } = contextWith({ yes: true, interactive });
    await confirm(context, 'Delete it?');
    expect(questions).toEqual([]);
  });
});

describe('values', () => {
  it('have a length in characters', () => {
    const check = length(2, 3);
    for (const value of ['ab', 'abc', '😀😀']) expect(check(value, '--name')).toBe(value);
    expect(() => check('😀', '--name')).toThrow('--name must have at least 2 characters, not 1.');
    expect(() => check('abcd', '--name')).toThrow('--name must have at most 3 characters, not 4.');
    expect(() => length(1)('', '--name')).toThrow('--name is empty.');
    expect(length(1)('x'.repeat(10_000), '--name')).toHaveLength(10_000);
  });

  it('can be IDs, addresses, and paths', () => {
    expect(uuid('6F1C0A51-6C6E-4B0E-9F0E-0D4D4F3A2B11', 'RUN')).toBe('6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b11');
    for (const value of ['x', '6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b111', ' 6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b11'])
      expect(() => uuid(value, 'RUN')).toThrow(`RUN must be an ID, not "${value}".`);
    for (const value of ['http://a', 'https://a/b?c']) expect(webAddress(value, '--url')).toBe(value);
    for (const value of ['a', 'ftp://a', 'javascript:alert(1)', '/a']) expect(() => webAddress(value, '--url')).toThrow('--url must be');
    for (const value of ['/a', 'C:\\a']) expect(absolutePath(value, '--path')).toBe(value);
    for (const value of ['a', './a', '']) expect(() => absolutePath(value, '--path')).toThrow('--path must be an absolute path');
  });
});
