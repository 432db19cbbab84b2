/** What rubrics can contain, how it is understood, and that nothing is guessed. */
import { describe, expect, it } from 'vitest';
import { readDemand } from '../../../src/service/evaluation/language.ts';
import { checkInWords } from '../../../src/service/evaluation/words.ts';

const parse = (text: string) => {
  const { checks, unclearClauses } = readDemand(text);
  return [...checks.map(checkInWords), ...unclearClauses.map((clause) => `? ${clause}`)];
};

describe('a sentence', () => {
  it.each<[string, string | string[]]>([
    ['The final message contains "Paid".', 'final message contains "Paid"'],
    ['the last answer must mention "Paid"', 'final message contains "Paid"'],
    ['The final message doesn\u2019t contain \u201cError\u201d', 'final message does not contain "Error"'],
    ['Its final message must not include "a \\"b\\" c"', 'final message does not contain "a \\"b\\" c"'],
    ['The final message starts with "Done"', 'final message starts with "Done"'],
    ['The final message is "OK"', 'final message is "OK"'],
    ['The final message is not "OK"', 'final message is not "OK"'],
    ['Some message says "Hello"', 'some message contains "Hello"'],
    ['No message contains "password"', 'no message contains "password"'],
    ['No tool call failed', 'no tool call failed'],
    ['All tool calls must succeed.', 'no tool call failed'],
    ['At most 2 tool calls failed', 'at most 2 tool calls failed'],
    ['The tool erp.lookup was called', 'tool erp.lookup called at least once'],
    ['The tool "erp lookup" must not be called', 'tool erp lookup never called'],
    ['Tool exec was never used', 'tool exec never called'],
    ['The tool exec was called twice', 'tool exec called 2 times'],
    ['The tool exec was called at most 3 times', 'tool exec called at most 3 times'],
    ['The tool exec must be called exactly once', 'tool exec called once'],
    ['The file /workspace/out/Report.md exists', 'file /workspace/out/Report.md exists'],
    ['The file "my report.md" must exist', 'file my report.md exists'],
    ['The file a.txt does not exist', 'file a.txt does not exist'],
    ['The file a.txt is not empty', 'file a.txt is not empty'],
    ['The file a.csv contains "1,2"', 'file a.csv contains "1,2"'],
    ['The memory file notes.md mentions "Acme"', 'memory file notes.md contains "Acme"'],
    ['It took less than 5m', 'took at most 5m'],
    ['The run must take at most 90 seconds', 'took at most 1m 30s'],
    ['took more than 1 hour', 'took at least 1h'],
    ['The run finished within 2 minutes', 'took at most 2m'],
    ['A person approved', 'a person approved'],
    ['A person must approve "Pay"', 'a person approved "Pay"'],
    ['No person was asked', 'nobody was asked'],
    ['Nobody denied', 'nobody denied'],
    ['A person was not asked', 'nobody was asked'],
    ['The run completed', 'run completed'],
    ['The run must not fail', 'run did not fail'],
    ['It was not interrupted', 'run was not interrupted'],
    ['The final message does not start with "A"', 'final message does not start with "A"'],
    ['The final message never ends with "A"', 'final message does not end with "A"'],
    ['No message is not "A"', 'some message is "A"'],
    ['The messages must not contain "A"', 'no message contains "A"'],
    ['The message must not begin with "A"', 'no message starts with "A"'],
    ['Every tool call succeeded', 'no tool call failed'],
    ['No more than one tool call may fail', 'at most 1 tool calls failed'],
    ['At most twice tool calls failed', 'at most 2 tool calls failed'],
    ['The tool exec was called three times', 'tool exec called 3 times'],
    ['The tool exec was called at least two times', 'tool exec called at least 2 times'],
    ['The tool exec was called at least once', 'tool exec called at least once'],
    ['The tool exec was called only once', 'tool exec called once'],
    ['The tool exec was called 0 times', 'tool exec never called'],
    ['The tool exec was called at most 0 times', 'tool exec never called'],
    ['The tool exec was not called once', '? The tool exec was not called once'],
    ['A file a.txt must not exist', 'file a.txt does not exist'],
    ['The file a.txt is there', 'file a.txt exists'],
    ['The file a.txt must be not empty', 'file a.txt is not empty'],
    ['The memory file a.txt is empty', 'memory file a.txt is empty'],
    ['The memory file a.txt is not there', 'memory file a.txt does not exist'],
    ['The file a.txt must not start with "x"', 'file a.txt does not start with "x"'],
    ['The file a.txt equals "x"', 'file a.txt is "x"'],
    ['The agent took no more than 1.5 hours', 'took at most 1h 30m'],
    ['It lasted longer than 2 days', 'took at least 2d'],
    ['It took at least 3 s', 'took at least 3s'],
    ['It took over 3s', 'took at least 3s'],
    ['The run ended in under 2m', 'took at most 2m'],
    ['Someone denied "Pay"', 'a person denied "Pay"'],
    ['Some body was asked "Pay"', 'a person was asked "Pay"'],
    ['No one approved', 'nobody approved'],
    ['Nobody was not asked', 'a person was asked'],
    ['A person did not deny', 'nobody denied'],
    ['The run failed', 'run failed'],
    ['The run was interrupted', 'run was interrupted'],
    ['The agent must be stopped', 'run was interrupted'],
    ['The run never completed', 'run did not complete'],
    ['The run cannot fail', 'run did not fail'],
    ["The run mustn't be stopped", 'run was not interrupted'],
    // Several sentences.
    [
      'The final message contains "A" and "B", and no tool call failed.',
      ['final message contains "A"', 'final message contains "B"', 'no tool call failed'],
    ],
    ['The file a.md exists. It took less than 5m; a person approved', ['file a.md exists', 'took at most 5m', 'a person approved']],
    ['THE FINAL MESSAGE CONTAINS "paid"', 'final message contains "paid"'],
    // Outside the language.
    ['The answer is polite.', '? The answer is polite'],
    ['The final message contains Paid', '? The final message contains Paid'],
    ['The tool exec was not called twice', '? The tool exec was not called twice'],
    ['It took less than a while', '? It took less than a while'],
    ['The file a.md exists and the tone of "x" is kind', ['file a.md exists', '? the tone of "x" is kind']],
  ])('%s', (text, expected) => {
    expect(parse(text)).toEqual([expected].flat());
  });
});

it.each([
  ['The run completed', 'medium'],
  ['Critical: the run completed', 'critical'],
  ['LOW - the run completed', 'low'],
  ['The run completed (critical).', 'critical'],
  ['The run completed. Severity: low.', 'low'],
  ['The run completed [low severity]', 'low'],
  ['The final message contains "critical"', 'medium'],
])('the severity of "%s" is %s', (text, severity) => {
  const demand = readDemand(text);
  expect(demand).toMatchObject({ severity, unclearClauses: [] });
  expect(demand.checks).toHaveLength(1);
});
