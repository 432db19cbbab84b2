/** Verdicts on a run, for each kind of sentence. */
import { describe, expect, it } from 'vitest';
import type { Facts, FileFinding } from '../../../src/service/evaluation/facts.ts';
import { judge } from '../../../src/service/evaluation/judge.ts';
import { readDemand } from '../../../src/service/evaluation/language.ts';

const files: Record<string, FileFinding> = {
  'a.md': { text: 'Total: 3\n  EUR', size: 14 },
  'empty.md': { text: '', size: 0 },
  'big.bin': { unknown: 'the file /workspace/big.bin is larger than 1 MiB' },
  gone: { unknown: 'the files of the run have been removed' },
};
const facts: Facts = {
  status: 'completed',
  error: null,
  duration: 61_000,
  messages: ['Hello', 'Invoice paid.'],
  calls: [
    { name: 'exec', error: undefined },
    { name: 'exec', error: 'exit 1' },
  ],
  requests: [{ title: 'Pay it?', decision: 'approved' }],
  file: async (path) => files[path] ?? 'missing',
  memoryFile: async (path) => (path === 'notes.md' ? { text: 'Acme', size: 4 } : 'missing'),
};
const verdictOn = async (text: string, changes: Partial<Facts> = {}): Promise<string> => {
  const verdict = await judge(readDemand(text), { ...facts, ...changes });
  return verdict.status === 'passed' ? 'passed' : `${verdict.status}: ${verdict.comment}`;
};

describe('a verdict', () => {
  it.each([
    'The final message contains "PAID"',
    'The final message is "invoice paid."',
    'The final message ends with "paid."',
    'Some message starts with "hello"',
    'No message contains "error"',
    'At most 1 tool call failed',
    'The tool exec was called twice',
    'The tool lookup was never called',
    'The file a.md exists and the file b.md does not exist',
    'The file a.md contains "3 eur"',
    'The file empty.md is empty',
    'The file big.bin exists',
    'The memory file notes.md contains "acme"',
    'It took less than 2m',
    'It took more than 1m',
    'A person approved "pay"',
    'Nobody denied',
    'The run completed',
    // Limits are part of their ranges.
    'It took at most 61s and it took at least 61s',
    'No more than 2 tool calls failed',
    'The tool exec was called at least twice and the tool exec was called at most twice',
    // Texts are compared without case, and white space counts as one space.
    'The file a.md is "total: 3 eur" and the file a.md starts with "TOTAL" and the file a.md ends with "3 eur"',
    'The final message does not start with "paid" and the final message does not end with "invoice"',
    'The final message is not "invoice" and the final message does not contain "hello"',
    'Some message is "hello" and no message is "hell"',
    // What does not exist or is too large is known all the same.
    'The file b.md does not exist and the memory file b.md does not exist',
    'The file a.md is not empty and the file a.md does not contain "4"',
    'A person was asked and a person was asked "pay" and nobody was asked "ship"',
    'Nobody approved "ship" and nobody denied "pay"',
    'The run did not fail and the run was not interrupted',
  ])('%s: passed', async (text) => {
    expect(await verdictOn(text)).toBe('passed');
  });

  it.each<[string, string]>([
    ['The final message contains "Hello"', 'final message contains "Hello": the final message is "Invoice paid."'],
    ['No message contains "hello"', 'no message contains "hello": one is "Hello"'],
    ['No tool call failed', 'no tool call failed: 1 call failed: exec: exit 1'],
    ['The tool exec was called once', 'tool exec called once: it was called 2 times'],
    ['The file b.md exists', 'file b.md exists: it does not exist'],
    ['The file b.md contains "x"', 'file b.md contains "x": it does not exist'],
    ['The file a.md is empty', 'file a.md is empty: it has 14 bytes'],
    ['It took less than 1m', 'took at most 1m: it took 1m 1s'],
    ['A person was not asked', 'nobody was asked: "Pay it?" approved'],
    ['A person approved "Ship"', 'a person approved "Ship": nobody was asked'],
    ['The run failed', 'run failed: the run completed'],
    ['It took at least 62s', 'took at least 1m 2s: it took 1m 1s'],
    ['It took at most 60s', 'took at most 1m: it took 1m 1s'],
    ['The tool exec was called at least 3 times', 'tool exec called at least 3 times: it was called 2 times'],
    ['The tool exec was called at most once', 'tool exec called at most 1 times: it was called 2 times'],
    ['The tool lookup was called', 'tool lookup called at least once: it was called never'],
    ['Some message contains "bye"', 'some message contains "bye": no message does'],
    ['The final message does not contain "paid"', 'final message does not contain "paid": the final message is "Invoice paid."'],
    ['The file big.bin does not exist', 'file big.bin does not exist: it exists'],
    ['The file a.md does not exist', 'file a.md does not exist: it exists'],
    ['The file empty.md is not empty', 'file empty.md is not empty: it has 0 bytes'],
    ['The file a.md contains "4"', 'file a.md contains "4": its content does not match'],
    ['The file a.md does not contain "3"', 'file a.md does not contain "3": its content does not match'],
    ['The file b.md does not contain "3"', 'file b.md does not contain "3": it does not exist'],
    ['The memory file notes.md does not exist', 'memory file notes.md does not exist: it exists'],
    ['A person denied', 'a person denied: "Pay it?" approved'],
    ['Nobody approved "pay"', 'nobody approved "pay": "Pay it?" approved'],
    ['The run was interrupted', 'run was interrupted: the run completed'],
    ['The run did not complete', 'run did not complete: the run completed'],
    ['The run failed and the tool exec was never called', 'run failed: the run completed; tool exec never called: it was called 2 times'],
  ])('%s: failed', async (text, comment) => {
    expect(await verdictOn(text)).toBe(`failed: ${comment}`);
  });

  it('is undecided if the facts are insufficient', async () => {
    expect(await verdictOn('The file gone contains "x"')).toBe('undecided: the files of the run have been removed');
    expect(await verdictOn('The file big.bin contains "x"')).toMatch(/^undecided: .*larger than 1 MiB/);
    expect(await verdictOn('It took less than 1m', { duration: undefined })).toBe('undecided: the run never started');
    expect(await verdictOn('The tone is kind')).toBe('undecided: "The tone is kind" is not a sentence that can be checked');
    expect(await verdictOn('The file gone exists')).toBe('undecided: the files of the run have been removed');
    expect(await verdictOn('The file gone is empty and the tone is kind')).toBe(
      'undecided: the files of the run have been removed; "the tone is kind" is not a sentence that can be checked',
    );
    expect(await verdictOn('Critical:')).toBe('undecided: it does not contain anything that can be checked');
  });

  it('is failed if one part fails, even if another is undecided', async () => {
    expect(await verdictOn('The tone is kind and the run failed')).toMatch(/^failed: run failed/);
    expect(await verdictOn('The tone is kind and the run completed')).toMatch(/^undecided/);
  });

  it('also works for a run without messages', async () => {
    expect(await verdictOn('The final message contains "x"', { messages: [] })).toBe(
      'failed: final message contains "x": the run did not send a message',
    );
    expect(await verdictOn('The final message does not contain "x"', { messages: [] })).toBe('passed');
    expect(await verdictOn('Some message contains "x"', { messages: [] })).toBe('failed: some message contains "x": no message does');
    expect(await verdictOn('The run completed', { status: 'failed', error: 'Step 1: no.' })).toBe(
      'failed: run completed: the run failed: Step 1: no.',
    );
    expect(await verdictOn('The run completed', { status: 'interrupted' })).toBe('failed: run completed: the run was interrupted');
  });

  it('names up to three failed calls, and shortens what is long', async () => {
    const calls = Array.from({ length: 4 }, (_, index) => ({ name: `tool${index}`, error: `no\n ${'x'.repeat(100)}` }));
    const error = `no ${'x'.repeat(76)}\u2026`;
    expect(await verdictOn('No tool call failed', { calls })).toBe(
      `failed: no tool call failed: 4 calls failed: tool0: ${error}; tool1: ${error}; tool2: ${error}`,
    );
  });

  it('names the requests that were not answered', async () => {
    const requests: Facts['requests'] = [
      { title: 'Pay it?', decision: 'none' },
      { title: 'Which?', decision: 'answered' },
    ];
    expect(await verdictOn('A person approved "it"', { requests })).toBe('failed: a person approved "it": "Pay it?" not answered');
    expect(await verdictOn('A person has denied "?"', { requests })).toBe(
      'undecided: "A person has denied "?"" is not a sentence that can be checked',
    );
    expect(await verdictOn('A person did not approve "?"', { requests })).toBe('passed');
  });
});
