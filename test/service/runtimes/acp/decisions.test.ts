/** Decisions of people, modes, and prompts, in the terms of the protocol. */
import type { PermissionOption } from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { parseDefinition } from '../../../../src/service/runtimes/acp/definition.ts';
import { chooseMode } from '../../../../src/service/runtimes/acp/modes.ts';
import { outcomeOf, permissionRequest } from '../../../../src/service/runtimes/acp/permission.ts';
import { promptText } from '../../../../src/service/runtimes/acp/prompts.ts';
import { SessionUpdates } from '../../../../src/service/runtimes/acp/updates.ts';

const option = (kind: PermissionOption['kind']): PermissionOption => ({ kind, optionId: `${kind}-id`, name: kind });

describe('a decision', () => {
  it.each([
    [['allow_always', 'allow_once', 'reject_once'], true, 'allow_once-id'],
    [['reject_always', 'allow_always', 'reject_once', 'allow_once'], false, 'reject_once-id'],
    [['allow_always', 'reject_always'], true, 'allow_always-id'],
    [['allow_always', 'reject_always'], false, 'reject_always-id'],
  ] as const)('chooses from %j by kind (approved: %s)', (kinds, isApproved, optionId) => {
    expect(outcomeOf(kinds.map(option), isApproved)).toEqual({ outcome: 'selected', optionId });
  });

  it.each([
    [['allow_once'], false],
    [['reject_once'], true],
    [[], true],
  ] as const)('allows nothing if %j contains no fitting option (approved: %s)', (kinds, isApproved) => {
    expect(outcomeOf(kinds.map(option), isApproved)).toEqual({ outcome: 'cancelled' });
  });
});

describe('an option whose ID', () => {
  const named = (optionId: string, kind: PermissionOption['kind']): PermissionOption => ({ kind, optionId, name: kind });

  it.each([true, false])('also names one of another kind is not chosen (approved: %s)', (isApproved) => {
    const ambiguous = [named('1', 'reject_once'), named('1', 'allow_once')];
    expect(outcomeOf(ambiguous, isApproved)).toEqual({ outcome: 'cancelled' });
    const others = [...ambiguous, named('2', 'allow_once'), named('3', 'reject_always')];
    expect(outcomeOf(others, isApproved)).toEqual({ outcome: 'selected', optionId: isApproved ? '2' : '3' });
  });

  it('is repeated is chosen', () => {
    expect(outcomeOf([named('1', 'allow_once'), named('1', 'allow_once')], true)).toEqual({ outcome: 'selected', optionId: '1' });
  });
});

describe('the request for a permission', () => {
  const call = { id: '1', name: 'exec', title: '', input: { command: 'cat ```' }, diffs: [], changedTexts: [], texts: [], paths: [] };

  it('contains the tool and its arguments in a fence that they cannot end', () => {
    expect(permissionRequest(call, [option('allow_once')], call.input)).toEqual({
      type: 'approval',
      title: 'exec',
      description: 'Tool: exec\n\n````json\n{\n  "command": "cat ```"\n}\n````',
    });
  });

  it.each<[string, PermissionOption[], string, string | undefined]>([
    ['once', [option('allow_always'), option('allow_once')], 'exec', undefined],
    ['only always', [option('allow_always'), option('reject_once')], 'Always allow: exec', 'The agent offers no permission for a single'],
    ['never', [option('reject_once')], 'exec', 'The agent offers no permission for this call'],
    [
      'never, because the IDs are equal',
      [option('reject_once'), { ...option('allow_once'), optionId: 'reject_once-id' }],
      'exec',
      'The agent offers no permission for this call',
    ],
  ])('says what an approval permits: %s', (_, options, title, limitation) => {
    const request = permissionRequest(call, options, call.input);
    expect(request.title).toBe(title);
    expect(request.description).toMatch(new RegExp(`^${limitation ?? 'Tool: exec'}`));
  });

  it('says so if the agent reports nothing but a title', () => {
    const undescribed = { ...call, name: 'other', title: 'aops_remember', input: undefined };
    expect(permissionRequest(undescribed, [option('allow_once')], { title: 'aops_remember' }).description).toContain(
      'The agent does not report the arguments of this call.',
    );
  });

  it.each([
    ['Edit files', ['a.ts', 'b.ts'], 'Edit files: a.ts, b.ts'],
    ['Edit a.ts', ['a.ts'], 'Edit a.ts'],
    ['a.ts', ['a.ts'], 'exec a.ts'],
    ['Run\nthis', [], 'Run this'],
  ])('is named after what is done: %j with %j', (title, paths, expected) => {
    expect(permissionRequest({ ...call, title, paths }, [option('allow_once')], {}).title).toBe(expected);
  });
});

describe('the request for a change of files', () => {
  const diff = '--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,2 @@\n-const a = 1;\n+const a = 2;\n const b = 3;';
  const changedTexts = ['const a = 1;\nconst b = 3;\nfar.away();\n', 'const a = 2;\nconst b = 3;\nfar.away();\n'];
  const diffs = [{ path: 'src/a.ts', diff }];
  const call = { id: 'call_1', name: 'edit', title: 'Edit src/a.ts', diffs, changedTexts, texts: [], paths: ['src/a.ts'] };
  const shownDiff = `Tool: edit\n\n\`\`\`diff\n${diff}\n\`\`\``;
  const describeCall = (input: Record<string, unknown>) =>
    permissionRequest({ ...call, input }, [{ optionId: 'a', name: 'Allow', kind: 'allow_once' }], input).description;

  it.each<[string, Record<string, unknown>]>([
    ['texts and paths', { file_path: 'src/a.ts', old_string: 'const a = 1;\nconst b = 3;', new_string: 'const a = 2;' }],
    ['the whole file', { path: 'src/a.ts', content: changedTexts[1] }],
    ['the same in objects', { changes: { 'src/a.ts': { update: { lines: ['const a = 2;', 'const b = 3;'] } } } }],
    ['the ID of the call', { call_id: 'call_1' }],
    ['the diff itself', { diff: `Index: src/a.ts\n===================\n${diff}\n\\ No newline at end of file\n` }],
    ['nothing', { old_string: '', then_run: '', limit: null }],
    ['the title', { title: 'Edit src/a.ts' }],
  ])('contains only the diff if that shows all arguments: %s', (_, input) => {
    expect(describeCall(input)).toBe(shownDiff);
  });

  it.each<[string, Record<string, unknown>, object]>([
    ['switches', { file_path: 'src/a.ts', replace_all: true, new_string: 'const a = 2;' }, { replace_all: true }],
    ['numbers', { path: 'src/a.ts', expected_replacements: 2 }, { expected_replacements: 2 }],
    ['other texts', { path: 'src/a.ts', then_run: 'rm -rf build' }, { then_run: 'rm -rf build' }],
    ['a command that the diff contains, too', { then_run: 'const a = 2;' }, { then_run: 'const a = 2;' }],
    ['texts of which the diff contains a part', { new_text: 'const a = 2;\nlaunch();' }, { new_text: 'const a = 2;\nlaunch();' }],
    ['texts that only look like a patch', { new_text: '--- const a = 9;' }, { new_text: '--- const a = 9;' }],
    ['a patch with something else', { patch: '+const a = 2;\n+launch();' }, { patch: '+const a = 2;\n+launch();' }],
    ['other files', { paths: ['src/a.ts', 'src/secret.ts'] }, { paths: ['src/secret.ts'] }],
    [
      'names in objects',
      { changes: { 'src/b.ts': { content: 'const b = 3;' } } },
      { changes: { 'src/b.ts': { content: 'const b = 3;' } } },
    ],
    ...['Makefile', 'src/new.ts', 'new files'].map((name): [string, Record<string, unknown>, object] => {
      const changes = { changes: { 'src/a.ts': { new_text: 'const a = 2;' }, [name]: { content: 'const b = 3;' } } };
      return [`what happens to ${name}`, changes, { changes: { [name]: { content: 'const b = 3;' } } }];
    }),
    ['that a file is deleted', { changes: { 'src/secret.ts': null } }, { changes: { 'src/secret.ts': null } }],
    ['the text of another file', { changes: { 'src/new.ts': 'const b = 3;' } }, { changes: { 'src/new.ts': 'const b = 3;' } }],
    ['switches of single edits', { edits: [{ old_string: 'const a = 1;', all: true }] }, { edits: [{ all: true }] }],
    ['objects with other names', { options: { force: false, path: 'src/a.ts' } }, { options: { force: false, path: 'src/a.ts' } }],
    ['what is no text', { lines: [3, 4] }, { lines: [3, 4] }],
  ])('contains the arguments that the diff does not show: %s', (_, input, hidden) => {
    const expected = `Arguments that the diff does not show:\n\n\`\`\`json\n${JSON.stringify(hidden, undefined, 2)}\n\`\`\``;
    expect(describeCall(input)).toBe(`${shownDiff}\n\n${expected}`);
  });
});

it('the request for an edit shows that it is made everywhere, and nothing that its diff shows', () => {
  const updates = new SessionUpdates(() => 'event', '/workspace');
  const [oldText, newText] = ['run("/workspace/a");\nkeep();', 'run("/workspace/b");\nkeep();'];
  const file = '/workspace/src/a.ts';
  const { call } = updates.acceptPermission({
    toolCallId: 'call_1',
    title: 'Edit src/a.ts',
    rawInput: { file_path: file, old_string: oldText, new_string: newText, replace_all: true },
    content: [{ type: 'diff', path: file, oldText, newText }],
  });
  const options = [{ optionId: 'a', name: 'Allow', kind: 'allow_once' as const }];
  const { description } = permissionRequest(call, options, updates.argumentsOf(call));
  expect(description).toContain('\n-run("/workspace/a");\n+run("/workspace/b");\n');
  expect(description).toMatch(/Arguments that the diff does not show:\n\n```json\n\{\n {2}"replace_all": true\n\}\n```$/);
});

describe('the mode of a session', () => {
  const modes = (currentModeId: string, ...ids: string[]) => ({
    modes: { currentModeId, availableModes: ids.map((id) => ({ id, name: id })) },
  });

  it.each([
    [modes('auto', 'auto', 'default', 'plan'), { mode: 'default', asks: true, change: { by: 'mode' } }],
    [modes('default', 'default', 'yolo'), { mode: 'default', asks: true }],
    [modes('agent', 'read-only', 'agent', 'full-access'), { mode: 'read-only', asks: true, change: { by: 'mode' } }],
    [modes('auto', 'auto', 'turbo'), { mode: 'auto', asks: false }],
  ])('is the strictest that the agent offers: %j', (offeredModes, choice) => {
    expect(chooseMode(offeredModes, undefined)).toEqual(choice);
  });

  it('is the one that is known to ask most, if this version of the agent offers it', () => {
    expect(chooseMode(modes('auto', 'auto', 'ask', 'careful'), undefined, 'careful')).toMatchObject({ mode: 'careful' });
    expect(chooseMode(modes('auto', 'auto', 'ask'), undefined, 'careful')).toMatchObject({ mode: 'ask', asks: true });
    expect(chooseMode(modes('auto', 'auto', 'ask', 'careful'), 'auto', 'careful')).toMatchObject({ mode: 'auto', asks: false });
    expect(() => chooseMode(modes('auto', 'auto', 'careful'), 'ask', 'careful')).toThrow('no mode "ask"');
  });

  it('is unknown if the agent has none', () => {
    expect(chooseMode({}, undefined)).toBeUndefined();
    expect(chooseMode({}, undefined, 'careful')).toBeUndefined();
    expect(() => chooseMode({}, 'ask')).toThrow('The agent has no modes, so it cannot be switched to "ask".');
  });
});

describe('a prompt', () => {
  const parts = { instructions: undefined, transcript: undefined, messages: [], isContinued: true, answers: [] };

  it('tells an agent that was interrupted what people have answered', () => {
    const answers = [
      { key: 'request-1', title: 'Write a.txt', answer: { type: 'approval' as const, approved: true } },
      { key: 'request-2', title: 'Delete b.txt', answer: { type: 'approval' as const, approved: false, reason: 'Keep it.' } },
      { key: 'request-3', title: 'Which?', answer: { type: 'question' as const, answers: { 'Which one?': ['a', 'b'] } } },
    ];
    expect(promptText({ ...parts, answers })).toBe(
      [
        'You were interrupted. Continue where you stopped. If you were about to use a tool, use it again with the same arguments.',
        'A person has approved this: Write a.txt',
        'A person has denied this: Delete b.txt\nThe reason: Keep it.',
        'Your question was answered:\nWhich one? a, b',
      ].join('\n\n'),
    );
  });

  it('contains the answers also if there is a message', () => {
    const answers = [{ key: 'request-1', title: 'Which?', answer: { type: 'question' as const, answers: { 'Which one?': 'a' } } }];
    expect(promptText({ ...parts, answers, messages: ['Be quick.'] })).toMatch(
      /^You were interrupted\..+\n\nYour question was answered:\nWhich one\? a\n\nBe quick\.$/s,
    );
    expect(promptText({ ...parts, messages: ['Be quick.'] })).toBe('Be quick.');
  });

  it('contains instructions and the transcript for a new session', () => {
    expect(
      promptText({
        ...parts,
        instructions: '<instructions>\nBe brief.\n</instructions>',
        transcript: 'User: Hello',
        messages: ['Go.'],
        isContinued: false,
      }),
    ).toBe(
      '<instructions>\nBe brief.\n</instructions>\n\nThis is the conversation so far:\n<transcript>\nUser: Hello\n</transcript>\n\nGo.',
    );
  });
});

describe('the definition of an agent', () => {
  const problemsOf = (text: string): string => {
    try {
      parseDefinition(text);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('has defaults for everything but the program', () => {
    expect(parseDefinition('version: 1\nacp: claude')).toEqual({
      ...{ acp: 'claude', command: undefined, instructions: undefined, mode: undefined },
      ...{ skills: {}, environment: {}, secrets: [], network: [], files: [], timeout: 3_600_000 },
    });
  });

  it.each([
    ['hello', 'line 1, column 1: the definition of an agent must be a YAML mapping with `version: 1` and `acp` or `command`'],
    ['version: 1', 'line 1, column 1: the definition needs `acp` (an agent of the registry) or `command` (a program and its arguments)'],
    ['version: 1\nacp: a\ncommand: [b]', 'line 3, column 1: `acp` and `command` exclude each other; leave one of them out'],
    [
      'version: 1\nacp: a\ntimeout: soon',
      'line 3, column 10: `timeout` of the definition is `soon`, which is not a duration; write 300ms, 2s, 1m30s, or 2h',
    ],
    ['version: 1\nacp: a\ntimeout: 25h', 'line 3, column 10: `timeout` must be more than 0 and at most 24h'],
    ['version: 1\nacp: claude\nfiles: [/opt/a, b]', 'line 3, column 17: `b` is not an absolute path'],
    ['version: 1\nacp: a\ncolour: red', 'line 3, column 1: unknown key `colour` in the definition; allowed:'],
    ['version: 1\nacp: a\nenvironment: { "a b": c }', '`a b` is not the name of an environment variable'],
    ['version: 1\nacp: a\nsecrets: [A, A]', 'line 3, column 14: `A` appears twice'],
    ['version: 1\nacp: a\nsecrets: [A]\nenvironment: { A: b }', 'line 3, column 11: `A` also appears in `environment`'],
    ['version: 2\nacp: a', 'line 1, column 10: `version` must be 1'],
  ])('is refused with the place of the problem: %j', (text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });
});
