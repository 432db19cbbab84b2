/** A run in short: its steps on one line each, its first message and its last words, and what its record says besides. */
import { describe, expect, it } from 'vitest';
import { digestOf, oneLine } from '../../../src/cli/run-record/digest.ts';
import { recordHead } from '../../../src/cli/run-record/head.ts';
import type { RunRecord } from '../../../src/cli/run-record/read.ts';
import type { RecordedHumanRequest, RunMessage } from '../../../src/interface/types.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 6, 18, 9) + second * 1_000).toISOString();
let second = 0;
const message = (fields: Partial<RunMessage>): RunMessage => {
  second += 1;
  return { id: String(second), type: 'message', role: 'assistant', timestamp: at(second), ...fields };
};
const call = (id: string, args: object): RunMessage =>
  message({ type: 'tool_call', tool_call: { id, name: 'exec', arguments: args as Record<string, unknown> } });
const result = (tool_call_id: string, fields: object): RunMessage =>
  message({ type: 'tool_result', role: 'tool', tool_result: { tool_call_id, ...fields } });

async function digest(messages: RunMessage[], requests?: RecordedHumanRequest[]) {
  async function* each() {
    yield* messages;
  }
  return digestOf(each(), requests);
}

const request = (fields: Partial<RecordedHumanRequest>): RecordedHumanRequest => ({
  ...{ id: 'h', title: 'Pay?', description: null, type: 'approval', created_at: at(0), status: 'pending' },
  ...{ response: null, responded_at: null, responded_by: null },
  ...fields,
});

describe('the digest of a run', () => {
  it('has the first message of a person, the last text of the agent, and the last three notices', async () => {
    const person = (text_content: string) => message({ role: 'user', text_content });
    const notices = ['a', 'b', 'c', 'd\n e'].map((text_content) => message({ type: 'notice', role: 'system', text_content }));
    const answer = message({ type: 'human_response', role: 'user', text_content: 'Approved' });
    const thought = message({ type: 'thought', text_content: 'hm' });
    const texts = [answer, person('Begin'), message({ text_content: 'first' }), message({ text_content: 'last' }), thought, person('More')];
    expect(await digest([...texts, ...notices])).toEqual({
      steps: [],
      firstMessage: 'Begin',
      lastText: 'last',
      notices: ['b', 'c', 'd e'],
    });
    expect(await digest([])).toEqual({ steps: [], firstMessage: null, lastText: null, notices: [] });
  });

  it('has no first message if nobody wrote one', async () => {
    expect(await digest([message({ text_content: 'first' })])).toMatchObject({ firstMessage: null, lastText: 'first' });
  });

  it('numbers its steps, with what they did and how they ended', async () => {
    const { steps } = await digest([
      call('a', { command: 'make test' }),
      result('a', { result: { exit_code: 2, stdout: 'no' } }),
      call('b', { path: 'a.txt' }),
      result('b', { error: 'not found' }),
      call('c', {}),
      result('c', { result: { diffs: [{ path: 'b.txt', diff: '@@' }], text: 'ok' } }),
      call('d', { command: 'sleep' }),
    ]);
    expect(steps.map(({ number, kind, title, status, outcome }) => [number, kind, title, status, outcome])).toEqual([
      [1, 'tool', 'exec  make test', 'done', 'exit 2, no'],
      [2, 'tool', 'exec  a.txt', 'failed', 'not found'],
      [3, 'tool', 'exec', 'done', 'b.txt'],
      [4, 'tool', 'exec  sleep', 'unfinished', ''],
    ]);
  });

  it('includes human requests with their answers', async () => {
    const long = 'x'.repeat(120);
    const answered = request({ title: `Pay\n ${long}`, status: 'answered', response: 'approved:\n fine', responded_at: at(1) });
    const { steps } = await digest([], [answered, request({ id: 'i' })]);
    expect(steps).toMatchObject([
      { number: 1, kind: 'request', title: `approval  Pay ${'x'.repeat(95)}\u2026`, status: 'answered', outcome: 'approved: fine' },
      { number: 2, title: 'approval  Pay?', status: 'pending', outcome: '' },
    ]);
  });

  it('identifies steps by what they did, and outcomes by how they ended', async () => {
    const once = async (args: object, outcome: object) => (await digest([call('a', args), result('a', outcome)])).steps[0];
    const [first, same, otherCall, otherResult, failed] = [
      await once({ a: 1 }, { result: 1 }),
      await once({ a: 1 }, { result: 1 }),
      await once({ a: 2 }, { result: 1 }),
      await once({ a: 1 }, { result: 2 }),
      await once({ a: 1 }, { error: 'no' }),
    ];
    expect([same?.key, same?.outcomeKey]).toEqual([first?.key, first?.outcomeKey]);
    expect(otherCall?.key).not.toBe(first?.key);
    expect([otherResult?.key, failed?.key]).toEqual([first?.key, first?.key]);
    expect(new Set([first, otherResult, failed].map((step) => step?.outcomeKey)).size).toBe(3);
    const [pending, answered] = (await digest([], [request({}), request({ id: 'i', status: 'answered', response: 'approved' })])).steps;
    expect(answered?.key).toBe(pending?.key);
    expect(answered?.outcomeKey).not.toBe(pending?.outcomeKey);
    const [described] = (await digest([], [request({ description: 'More' })])).steps;
    expect(described?.key).not.toBe(pending?.key);
  });

  it('puts texts on one line of at most 100 characters', () => {
    expect([oneLine('  a\n\tb  '), oneLine('x'.repeat(100)), oneLine('x'.repeat(101))]).toEqual([
      'a b',
      'x'.repeat(100),
      `${'x'.repeat(99)}\u2026`,
    ]);
  });
});

describe('the head of a record', () => {
  const run = {
    ...{ id: 'r', status: 'completed', source: 'api', agent_id: 'a', error: undefined, run_number: undefined },
    ...{ created_at: at(0), started_at: at(1), completed_at: at(3), pending_human_request: null },
  };
  const head = (fields: object = {}, ofRun: object = {}) =>
    recordHead({ run: { ...run, ...ofRun }, agentName: null, gaps: [], ...fields } as unknown as RunRecord);

  it('is mostly unknown if little could be read', async () => {
    expect(await head()).toEqual({
      run: {
        ...{ id: 'r', number: null, title: null, status: 'completed', source: 'api', created_at: at(0), started_at: at(1) },
        ...{ completed_at: at(3), duration_milliseconds: 2_000, error: null },
      },
      agent: { id: 'a', name: null },
      ...{
        revision: null,
        program: null,
        usage: null,
        containment: null,
        case: null,
        report: null,
        evaluation: null,
        pending_request: null,
      },
    });
    for (const missing of [{ started_at: null }, { completed_at: null }])
      expect((await head({}, missing)).run.duration_milliseconds).toBeNull();
    expect((await head({}, { agent_id: null })).agent).toBeNull();
    expect((await head({ listItem: { title: '' } })).run.title).toBeNull();
  });

  it('contains what could be read', async () => {
    const session = { name: 'codex', version: '1', mode: 'plan', asks: true, usage: { context_tokens: 1, context_size: 2, cost: null } };
    const data = { model: 'acp', input: 'command: [codex, acp]' };
    const full = await head(
      {
        ...{ agentName: 'Clerk', listItem: { title: 'Pay', case_queue_item_id: 'c', case_title: 'Case', case_queue_name: null } },
        revision: { id: 'v', revision_number: 3, revision_name: 'Third', status: 'live', config: { data } },
        detail: { agent_session: session, exec_level: 'host', eval_summaries: { passed: 0, total: 1 } },
        report: { executedSteps: 1, totalSteps: 2, calls: 3, errors: 4, handoffs: 5 },
      },
      { run_number: 7, error: 'no', pending_human_request: { id: 'h' } },
    );
    expect(full).toMatchObject({
      run: { number: 7, title: 'Pay', error: 'no' },
      agent: { id: 'a', name: 'Clerk' },
      revision: { id: 'v', number: 3, name: 'Third', status: 'live', runtime: 'acp', procedure: 'command: [codex, acp]' },
      program: { name: 'codex', version: '1', mode: 'plan', asks: true, command: ['codex', 'acp'] },
      ...{ usage: session.usage, containment: 'host', case: { id: 'c', title: 'Case', queue: null } },
      report: { steps: 1, total_steps: 2, calls: 3, errors: 4, human_requests: 5 },
      ...{ evaluation: { passed: 0, total: 1 }, pending_request: { id: 'h' } },
    });
  });

  it.each([{ passed: 1 }, { total: 1 }, { passed: '1', total: 1 }, { passed: 1, total: '1' }, null])(
    'has no evaluation if the service returns %j',
    async (eval_summaries) => {
      expect((await head({ detail: { agent_session: null, eval_summaries } })).evaluation).toBeNull();
    },
  );

  it('names no command and no runtime that are not known', async () => {
    const session = { name: 'codex', version: '1', mode: null, asks: null, usage: null };
    const revision = { id: 'v', revision_number: null, config: null };
    const partial = await head({ revision, detail: { agent_session: session } });
    expect(partial).toMatchObject({
      program: { command: null },
      revision: { number: null, name: null, runtime: null, procedure: '' },
      usage: null,
      containment: null,
    });
  });
});
