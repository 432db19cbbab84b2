/** What an agent of the Agent Client Protocol does is readable in transcripts, in lists of messages, and in details. */
import { expect, it } from 'vitest';
import { Transcript } from '../../src/cli/records/transcript.ts';
import type { RunMessage } from '../../src/interface/types.ts';
import { paintFencedDiffs } from '../../src/terminal/diff.ts';
import { plainStyles, type Styles } from '../../src/terminal/style.ts';
import { misbehaving } from '../agents/installed.ts';
import { startTestService } from '../support/service.ts';

/** Styles that name themselves. */
const namedStyles = Object.fromEntries(
  ['bold', 'dim', 'accent', 'success', 'warning', 'error', 'status'].map((name) => [name, (text: string) => `<${name}>${text}</>`]),
) as unknown as Styles;

const message = (type: string, text_content: string): RunMessage => ({ id: type, type, role: 'assistant', timestamp: '', text_content });
const redSequence = '\u001b[31m';

it('tells thoughts, plans and notices from what the agent says', () => {
  const transcript = new Transcript(namedStyles, 80);
  expect(transcript.lines(message('thought', 'Hm.\nWell.'))).toEqual(['<dim>thought: Hm.</>', '<dim>         Well.</>']);
  expect(transcript.lines(message('plan', '[x] Read\n[>] Write\n[ ] Test'))).toEqual([
    '<dim>plan:</>',
    '  <dim>[x] Read</>',
    '  <accent>[>] Write</>',
    '  [ ] Test',
  ]);
  expect(transcript.lines(message('notice', 'Continued.'))).toEqual(['<warning>!</> Continued.']);
  expect(transcript.lines(message('message', 'Done.'))).toEqual(['Done.']);
});

it('shows the changes of files below the tool call, and nothing that could steer the terminal', () => {
  const transcript = new Transcript(namedStyles, 80);
  const diff = `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new${redSequence}`;
  transcript.lines({ ...message('tool_call', ''), tool_call: { id: '1', name: 'edit', arguments: { path: 'x' } } });
  const lines = transcript.lines({
    ...message('tool_result', ''),
    tool_result: { tool_call_id: '1', result: { diffs: [{ path: `x${redSequence}`, diff }, null, { path: 1 }] } },
  });
  expect(lines).toEqual([
    '<success>✓</> <dim>edit  x  → x^[[31m</>',
    '  <bold>--- a/x</>',
    '  <bold>+++ b/x</>',
    '  <accent>@@ -1 +1 @@</>',
    '  <error>-old</>',
    '  <success>+new^[[31m</>',
  ]);
  const hostile = [message('thought', redSequence), message('plan', `[x] ${redSequence}`), message('notice', redSequence)];
  for (const each of hostile) expect(transcript.lines(each).join('')).not.toContain('\u001b');
});

it.each([
  [{ command: 'npm test' }, { result: { text: '```console\n\n3 tests passed\n```' } }, '✓ exec  npm test  → 3 tests passed'],
  [{ command: 'npm test' }, { error: '```\nExit code 1\n```' }, '✗ exec  npm test  → Exit code 1'],
  [{ file_path: 'a.js', limit: 9 }, { result: {} }, '✓ exec  a.js'],
  [{ title: 'Read a.js', paths: ['a.js'] }, { result: { text: '```\n```' } }, '✓ exec  Read a.js'],
  [{}, { result: { text: 'some', rows: 2 } }, '✓ exec  → {"text":"some","rows":2}'],
])('summarises the call %j with the outcome %j on one line', (args, outcome, line) => {
  const transcript = new Transcript(plainStyles, 80);
  transcript.lines({ ...message('tool_call', ''), tool_call: { id: '1', name: 'exec', arguments: args } });
  expect(transcript.lines({ ...message('tool_result', ''), tool_result: { tool_call_id: '1', ...outcome } })).toEqual([line]);
});

it('shortens long diffs', () => {
  const diff = `@@ -0,0 +1,500 @@\n${'+line\n'.repeat(500)}`;
  const lines = new Transcript(plainStyles, 80).lines({
    ...message('tool_result', ''),
    tool_result: { tool_call_id: '1', result: { diffs: [{ path: 'x', diff }] } },
  });
  expect(lines).toHaveLength(202);
  expect(lines.at(-1)).toBe('  … 301 more lines');
});

it('paints fenced diffs only where there are colours', () => {
  const text = 'Tool: edit\n\n````diff\n@@ -1 +1 @@\n-a\n+```\n````\n\nEnd';
  expect(paintFencedDiffs(text, plainStyles)).toBe(text);
  expect(paintFencedDiffs(text, namedStyles)).toBe('Tool: edit\n\n<accent>@@ -1 +1 @@</>\n<error>-a</>\n<success>+```</>\n\nEnd');
});

it('shows a turn of a real agent with its session', async () => {
  const service = await startTestService();
  const command = misbehaving('well-behaved')
    .map((word) => `'${word}'`)
    .join(' ');
  expect((await service.cli(['agents', 'create', 'fixer', '--acp-command', command])).code).toBe(0);
  const start = await service.cli(['runs', 'start', '--agent', 'fixer', '--message', 'Hello', '-o', 'id']);
  const run = start.stdout.trim();
  await service.until(run, 'waiting');
  expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);
  await service.until(run, 'completed');
  const transcript = await service.cli(['runs', 'watch', run]);
  expect(transcript.code).toBe(0);
  expect(transcript.stdout).toMatch(/^thought: /m);
  expect(transcript.stdout).toMatch(/^plan:\n {2}\[.\] /m);
  expect(transcript.stdout).toContain('\n  +');
  const messages = await service.cli(['runs', 'messages', run]);
  expect(messages.stdout).toMatch(/\tthought: /);
  const detail = await service.cli(['runs', 'detail', run, '--json']);
  expect(detail.json().agent_session).toMatchObject({ name: expect.any(String), version: expect.any(String), usage: expect.any(Object) });
  expect((await service.cli(['runs', 'detail', run])).stdout).toMatch(/Version\t/);
});
