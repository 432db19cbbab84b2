/** Verdicts on a run, for each kind of sentence. */
import { describe, expect, it } from 'vitest';
import type { Facts, Found } from '../../../src/service/evaluation/facts.ts';
import { judge } from '../../../src/service/evaluation/judge.ts';
import { readDemand } from '../../../src/service/evaluation/language.ts';

const files: Record<string, Found> = {
  'a.md': { text: 'Total: 3\n  EUR', size: 14 },
  'empty.md': { text: '', size: 0 },
  'big.bin': { unknown: 'the file /workspace/big.bin is larger than 1 MiB' },
  gone: { unknown: 'the files of the run have been removed' },
};
const facts: Facts = {
  status: 'completed',
  error: null,
  took: 61_000,
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
  ])('%s: passed', async (text) => {
    expect(await verdictOn(text)).toBe('passed');
  });

  it.each<[string, string]>([
    ['The final message contains "Hello"', 'final message contains "Hello": the final message is "Invoice paid."'],
    ['No message contains "hello"', 'no message contains "hello": one is "Hello"'],
    ['No tool call failed', 'no tool call failed: 1 failed (exec: exit 1)'],
    ['The tool exec was called once', 'tool exec called once: it was called 2 times'],
    ['The file b.md exists', 'file b.md exists: it does not exist'],
    ['The file b.md contains "x"', 'file b.md contains "x": it does not exist'],
    ['The file a.md is empty', 'file a.md is empty: it has 14 bytes'],
    ['It took less than 1m', 'took at most 1m: it took 1m 1s'],
    ['A person was not asked', 'nobody was asked: "Pay it?" approved'],
    ['A person approved "Ship"', 'a person approved "Ship": nobody was asked'],
    ['The run failed', 'run failed: the run completed'],
  ])('%s: failed', async (text, comment) => {
    expect(await verdictOn(text)).toBe(`failed: ${comment}`);
  });

  it('is undecided if the facts are insufficient', async () => {
    expect(await verdictOn('The file gone contains "x"')).toBe('undecided: the files of the run have been removed');
    expect(await verdictOn('The file big.bin contains "x"')).toMatch(/^undecided: .*larger than 1 MiB/);
    expect(await verdictOn('It took less than 1m', { took: undefined })).toBe('undecided: the run never started');
    expect(await verdictOn('The tone is kind')).toBe('undecided: "The tone is kind" is not a sentence that can be checked');
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
    expect(await verdictOn('The run completed', { status: 'failed', error: 'Step 1: no.' })).toBe(
      'failed: run completed: the run failed: Step 1: no.',
    );
  });
});
