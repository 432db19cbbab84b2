/** Requests that are only a part of what a command does: which of their failures matter. */
import { expect, it } from 'vitest';
import type { Context } from '../../../src/cli/kit/context.ts';
import { ifOffered, readBack } from '../../../src/cli/kit/secondary-requests.ts';
import { NotOfferedError, ServiceAnswerError } from '../../../src/client/errors.ts';
import { failureOf } from '../../client/harness.ts';

const answerError = (status: number): ServiceAnswerError => new ServiceAnswerError(status, { error: 'x', message: 'No.\nNever.' }, {});

it('a part is left out if the service does not offer it', async () => {
  expect(await ifOffered(Promise.reject(new NotOfferedError('getRunChanges', true, {})))).toBeUndefined();
});

it.each([403, 404, 405, 501])('a part is left out if the service answers %i', async (status) => {
  expect(await ifOffered(Promise.reject(answerError(status)))).toBeUndefined();
});

it.each([answerError(401), answerError(500), new Error('broken')])(
  'a part that fails with %s is a failure of the command',
  async (error) => {
    expect(await failureOf(ifOffered(Promise.reject(error)))).toBe(error);
    expect(await ifOffered(Promise.resolve('answer'))).toBe('answer');
  },
);

it.each([
  [answerError(500), 'No.\\nNever.'],
  ['broken', 'broken'],
])('what was changed is shown as far as it is known if it cannot be read back: %s', async (error, reason) => {
  const warnings: string[] = [];
  const context = { terminal: { warn: (text: string) => warnings.push(text) } } as unknown as Context;
  expect(await readBack(context, Promise.reject(error), 'known', 'It was created')).toBe('known');
  expect(warnings).toEqual([expect.stringMatching(/^It was created, but it could not be read back: \S/)]);
  expect(warnings[0]).toContain(reason.slice(0, 3));
  expect(warnings[0]).not.toContain('\n');
});
