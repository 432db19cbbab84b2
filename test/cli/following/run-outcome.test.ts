/** The errors with which commands end after a run. */
import { expect, it } from 'vitest';
import { outcomeError, waitingError } from '../../../src/cli/following/run-outcome.ts';
import type { HumanRequest, Run } from '../../../src/interface/types.ts';

const named = { id: 'r', run_number: 7 };
const ended = (status: string, error: string | null) => outcomeError({ status, error } as Run, named);

it.each([
  ['failed', 'The file is empty.', { code: 'run_failed', exit: 10, message: 'Run #7 failed: The file is empty.' }],
  ['failed', null, { code: 'run_failed', exit: 10, message: 'Run #7 failed.' }],
  ['interrupted', null, { code: 'run_interrupted', exit: 11, message: 'Run #7 was interrupted.' }],
])('a run that is %s because of %j is an error', (status, error, expected) => {
  expect(ended(status, error)).toMatchObject(expected);
});

it('a completed run is not an error', () => {
  expect(ended('completed', null)).toBeUndefined();
});

it('a run that waits says how to answer, also if its request is not known', () => {
  const request = { id: 'h', type: 'approval', title: 'Pay?' } as HumanRequest;
  expect(waitingError(named, request)).toMatchObject({
    exit: 12,
    message: expect.stringMatching(/^Run #7 is waiting for a person: .*Pay\?/),
    hint: expect.stringContaining('aops runs respond 7'),
  });
  expect(waitingError(named, null)).toMatchObject({
    message: 'Run #7 is waiting for a person.',
    hint: expect.stringContaining('aops runs get 7'),
  });
});
