/** What agents made by others sent in a session, as events of a run. */
import type { RequestPermissionRequest, SessionUpdate } from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { fingerprintOf, permissionRequest } from '../../../../src/service/runtimes/acp/permission.ts';
import { SessionUpdates } from '../../../../src/service/runtimes/acp/updates.ts';
import type { HumanRequestDraft, RuntimeEvent } from '../../../../src/service/runtimes/run-host.ts';
import { transcriptOf } from '../../../agents/transcript.ts';

const workspace = '/workspace';

function counter(): () => string {
  let count = 0;
  return () => `e${++count}`;
}

/** The events of each turn of a transcript, its requests, and their fingerprints. */
function replay(name: string) {
  const updates = new SessionUpdates(counter(), workspace);
  const turns: RuntimeEvent[][] = [];
  const requests: HumanRequestDraft[] = [];
  const fingerprints: string[] = [];
  let events: RuntimeEvent[] = [];
  for (const message of transcriptOf(name)) {
    const { method, params, result } = message as { method?: string; params: Record<string, unknown>; result?: { stopReason?: string } };
    if (method === 'session/update') events.push(...updates.accept(params.update as SessionUpdate));
    if (method === 'session/request_permission') {
      const { toolCall, options } = params as unknown as RequestPermissionRequest;
      const permission = updates.acceptPermission(toolCall);
      events.push(...permission.events);
      requests.push(permissionRequest(permission.call, options, updates.argumentsOf(permission.call)));
      fingerprints.push(fingerprintOf(permission.call));
    }
    if (result?.stopReason === undefined) continue;
    events.push(...updates.finish(), ...updates.abandonCalls('The agent did not report a result.'));
    turns.push(events);
    events = [];
  }
  return { turns, requests, fingerprints };
}

const summaryOf = (event: RuntimeEvent): unknown[] => {
  if (event.kind === 'tool_call') return ['call', event.name, JSON.stringify(event.arguments)];
  if (event.kind === 'tool_result') return ['result', event.error ?? JSON.stringify(event.result)];
  return [event.kind, (event as { text?: string }).text];
};

const diff = '--- /dev/null\n+++ b/hello.txt\n@@ -0,0 +1,2 @@\n+Hello\n+world';
const emptyDiff = diff.replace('/dev/null', 'a/hello.txt');
const say = ['text', 'I wrote the file.'];

describe('the updates of an agent', () => {
  it.each([
    [
      'claude',
      [
        ['call', 'Write', '{"file_path":"hello.txt","content":"Hello\\nworld\\n"}'],
        ['result', '```\nUser refused permission to run tool\n```'],
        say,
      ],
      [
        ['call', 'Write', '{"file_path":"hello.txt","content":"Hello\\nworld\\n"}'],
        ['result', expect.stringContaining('File created successfully')],
        say,
      ],
    ],
    [
      'codex',
      [
        ['call', 'edit', '{"title":"Editing files","paths":["hello.txt"]}'],
        ['result', 'The agent did not report a result.'],
      ],
      [
        ['call', 'edit', '{"title":"Editing files","paths":["hello.txt"]}'],
        ['result', JSON.stringify({ diffs: [{ path: 'hello.txt', diff }] })],
        say,
      ],
    ],
    [
      'gemini',
      [['call', 'edit', '{"title":"Writing to hello.txt","paths":["hello.txt"]}'], say, ['result', 'The agent did not report a result.']],
      [
        ['call', 'edit', '{"title":"Writing to hello.txt","paths":["hello.txt"]}'],
        ['result', JSON.stringify({ diffs: [{ path: 'hello.txt', diff: emptyDiff }] })],
        say,
      ],
    ],
    [
      'opencode',
      [
        ['call', 'edit', '{"filePath":"hello.txt","content":"Hello\\nworld\\n"}'],
        ['result', expect.any(String)],
      ],
      [
        ['call', 'edit', '{"filePath":"hello.txt","content":"Hello\\nworld\\n"}'],
        ['result', expect.stringContaining('Wrote file successfully.')],
        say,
      ],
    ],
  ])('become the events of the run: %s', (name, rejectedTurn, approvedTurn) => {
    expect(replay(name).turns.map((events) => events.map(summaryOf))).toEqual([rejectedTurn, approvedTurn]);
  });

  it.each(['claude', 'codex', 'gemini', 'opencode'])('identify the same request again: %s', (name) => {
    const { requests, fingerprints } = replay(name);
    expect(requests).toHaveLength(2);
    expect(requests[0]).toEqual(requests[1]);
    expect(new Set(fingerprints).size).toBe(1);
    expect(requests[0]?.title).toContain('hello.txt');
    expect(requests[0]?.description).toContain('+Hello\n+world');
  });

  it('combine the fragments of a text, and separate messages', () => {
    const updates = new SessionUpdates(counter(), workspace);
    const chunk = (text: string, messageId?: string): SessionUpdate => ({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text },
      ...(messageId === undefined ? {} : { messageId }),
    });
    const events = [chunk('One ', 'a'), chunk('two.', 'a'), chunk('Three.', 'b')].flatMap((update) => updates.accept(update));
    expect([...events, ...updates.finish()].map(summaryOf)).toEqual([
      ['text', 'One two.'],
      ['text', 'Three.'],
    ]);
  });

  it('report a plan only when it has changed', () => {
    const updates = new SessionUpdates(counter(), workspace);
    const plan = (status: 'pending' | 'completed'): SessionUpdate => ({
      sessionUpdate: 'plan',
      entries: [{ content: 'Test', priority: 'high', status }],
    });
    const events = [plan('pending'), plan('pending'), plan('completed')].flatMap((update) => updates.accept(update));
    expect(events.map(summaryOf)).toEqual([
      ['plan', '[ ] Test'],
      ['plan', '[x] Test'],
    ]);
  });

  it('shorten a result that is too long for a transcript', () => {
    const updates = new SessionUpdates(counter(), workspace);
    const [, result] = updates.accept({
      sessionUpdate: 'tool_call_update',
      toolCallId: '1',
      title: 'cat',
      status: 'completed',
      content: [{ type: 'content', content: { type: 'text', text: 'x'.repeat(100_005) } }],
    });
    expect(result).toMatchObject({ result: { text: expect.stringMatching(/^x{100000}\n\[5 more characters\]$/) } });
  });
});

describe('the fingerprint of a tool call', () => {
  const call = {
    id: '1',
    name: 'exec',
    title: 'ls',
    input: { command: 'ls', cwd: '.' },
    diffs: [],
    changedTexts: [],
    texts: [],
    paths: [],
  };

  it('depends on the tool and its arguments, and on nothing else', () => {
    expect(fingerprintOf({ ...call, id: '2', title: 'List', texts: ['x'], input: { cwd: '.', command: 'ls' } })).toBe(fingerprintOf(call));
    expect(fingerprintOf({ ...call, input: { command: 'ls -a', cwd: '.' } })).not.toBe(fingerprintOf(call));
    expect(fingerprintOf({ ...call, name: 'read' })).not.toBe(fingerprintOf(call));
  });

  it('depends on the changes if the agent reports no arguments', () => {
    const edit = { ...call, input: undefined, diffs: [{ path: 'a', diff: '+1' }] };
    expect(fingerprintOf({ ...edit, diffs: [{ path: 'a', diff: '+2' }] })).not.toBe(fingerprintOf(edit));
    const described = { ...call, input: undefined, texts: ['{"path":"a"}'] };
    expect(fingerprintOf({ ...described, texts: ['{"path":"b"}'] })).not.toBe(fingerprintOf(described));
    expect(fingerprintOf({ ...described, id: '2' })).toBe(fingerprintOf(described));
  });

  it('is different for each call if the agent reports nothing but a title', () => {
    const undescribed = { ...call, name: 'other', title: 'aops_remember', input: undefined };
    expect(fingerprintOf({ ...undescribed, id: '2' })).not.toBe(fingerprintOf(undescribed));
    // The title of a command is the command.
    const command = { ...undescribed, name: 'execute', title: 'npm test' };
    expect(fingerprintOf({ ...command, id: '2' })).toBe(fingerprintOf(command));
  });
});
