import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/service/errors.ts';
import type { RunCase } from '../../../../src/service/runtimes/run-host.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { drive, TestHost, type TestHostOptions, type TestSandbox, testSandbox } from './host.ts';

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
});
afterEach(() => place.remove());

const aCase: RunCase = {
  id: 'c1',
  title: 'Invoice 7',
  data: '{"amount": 120, "lines": [{"text": "Desk"}]}',
  priority: 'high',
  labels: [
    { key: 'vendor', value: 'acme' },
    { key: 'centre', value: 'A' },
    { key: 'centre', value: 'B' },
    { key: '', value: 'new' },
  ],
  queue: 'invoices',
  createdAt: '2026-07-18T09:00:00.000Z',
};

const host = (steps: string, options: TestHostOptions = {}): TestHost =>
  new TestHost(`version: 1\nsteps:\n${steps.replace(/^/gm, '  ')}\n`, place.sandbox, {
    now: Date.parse('2026-07-18T10:00:00Z'),
    ...options,
  });

describe('the case of a run', () => {
  it('is available to templates, with its data parsed from JSON', async () => {
    const run = host(
      '- say: "{{ case.title }} in {{ case.queue }}: {{ case.data.amount }} for {{ case.data.lines[0].text }}"\n- say: "{{ case.labels.vendor }} {{ case.labels.centre }} {{ case.tags }} {{ case.priority }}"\n- if: case.data.amount > 100\n  say: much',
      { case: aCase },
    );
    expect(await drive(run)).toEqual({ status: 'completed' });
    expect(run.texts).toEqual(['Invoice 7 in invoices: 120 for Desk', 'acme A, B new high', 'much']);
  });

  it.each([
    ['plain text', 'plain text'],
    ['120', '120'],
    ['{not json', '{not json'],
    ['', ''],
  ])('has %j as its data', async (data, output) => {
    const run = host('- say: "{{ case.data }}"', { case: { ...aCase, data } });
    await drive(run);
    expect(run.texts).toEqual([output]);
  });

  it('is nil if the run has none', async () => {
    const run = host('- if: case\n  complete_case: ""\n- if: not case\n  say: none');
    expect(await drive(run)).toEqual({ status: 'completed' });
    expect(run.texts).toEqual(['none']);
    expect(run.actions).toEqual([]);
  });
});

describe('steps about cases', () => {
  it('report its result visibly and continue', async () => {
    const run = host('- complete_case: "Booked {{ case.data.amount }}"\n- fail_case: no\n- complete_case: ""\n- say: after', {
      case: aCase,
    });
    expect(await drive(run)).toEqual({ status: 'completed' });
    expect(run.actions).toEqual([{ do: 'complete', reason: 'Booked 120' }, { do: 'fail', reason: 'no' }, { do: 'complete' }]);
    expect(run.texts).toEqual(['after']);
    const calls = run.events.flatMap((event) => (event.kind === 'tool_call' ? [[event.name, event.arguments]] : []));
    expect(calls).toEqual([
      ['complete_case', { reason: 'Booked 120' }],
      ['fail_case', { reason: 'no' }],
      ['complete_case', {}],
    ]);
    expect(run.results()).toHaveLength(3);
  });

  it('postpone it and end the run', async () => {
    const run = host('- postpone_case: { for: 2h, reason: later }\n- say: never', { case: aCase });
    expect(await drive(run)).toEqual({ status: 'completed' });
    expect(run.actions).toEqual([{ do: 'postpone', until: Date.parse('2026-07-18T12:00:00Z'), reason: 'later' }]);
    expect(run.texts).toEqual([]);
    // Advanced again, the run stays completed.
    expect(await scriptRuntime.advance(run)).toEqual({ status: 'completed' });
    expect(run.actions).toHaveLength(1);
  });

  it.each([
    ['2026-07-19', '2026-07-19T00:00:00Z'],
    ['2026-07-18T13:30:00+02:00', '2026-07-18T11:30:00Z'],
  ])('postpone it until %s', async (text, until) => {
    const run = host('- postpone_case: { until: "{{ message }}" }', { case: aCase, messages: [text] });
    expect(await drive(run)).toEqual({ status: 'completed' });
    expect(run.actions).toEqual([{ do: 'postpone', until: Date.parse(until) }]);
  });

  it.each([
    ['soon', 'Step 1 (postpone_case, line 3): "soon" is not a date; write 2026-07-18, or 2026-07-18T09:30:00Z.'],
    ['2026-07-18T09:00:00', 'is not a date'],
    ['2026-13-01', 'is not a date'],
    ['2027-02-30', 'is not a date'],
    ['2026-09-31T09:30:00Z', 'is not a date'],
    ['2026-07-18T09:00:00Z', 'Step 1 (postpone_case, line 3): 2026-07-18T09:00:00Z is not in the future.'],
  ])('refuse to postpone it until %s', async (text, error) => {
    const run = host('- postpone_case: { until: "{{ message }}" }', { case: aCase, messages: [text] });
    expect(await drive(run)).toEqual({ status: 'failed', error: expect.stringContaining(error) });
    expect(run.actions).toEqual([]);
  });

  it('add cases, with typed data and labels', async () => {
    const run = host(
      `- create_case:
    id: next
    queue: second look
    title: "Check {{ case.title }}"
    json: { amount: "{{ case.data.amount }}", of: "{{ case.id }} " }
    labels: { vendor: "{{ case.labels.vendor }}", "": [a, b] }
    priority: medium
    agent: second
- create_case: { queue: x, title: y, data: "{{ message }}" }
- say: "{{ steps.next.id }}"`,
      { case: aCase, messages: ['hello'], acts: (action) => ({ id: `new ${action.do}` }) },
    );
    expect(await drive(run)).toEqual({ status: 'completed' });
    expect(run.actions).toEqual([
      {
        do: 'create',
        queue: 'second look',
        agent: 'second',
        draft: {
          title: 'Check Invoice 7',
          data: '{"amount":120,"of":"c1 "}',
          labels: [
            { key: 'vendor', value: 'acme' },
            { key: '', value: 'a' },
            { key: '', value: 'b' },
          ],
          priority: 'medium',
        },
      },
      { do: 'create', queue: 'x', draft: { title: 'y', data: 'hello', labels: [] } },
    ]);
    expect(run.texts).toEqual(['new create']);
  });

  it('fail the run if they are impossible, and report why', async () => {
    const run = host('- create_case: { queue: nowhere, title: x }\n- say: never', {
      acts: () => {
        throw new ServiceError(404, 'queue_not_found', 'There is no queue "nowhere".');
      },
    });
    const error = 'Step 1 (create_case, line 3): There is no queue "nowhere".';
    expect(await drive(run)).toEqual({ status: 'failed', error });
    expect(run.results()).toMatchObject([{ error }]);
  });

  it('are not repeated after a crash between the action and the end of the step', async () => {
    const steps = '- if: case.data.amount == 120\n  complete_case: done\n- say: after';
    const first = host(steps, { case: aCase });
    await drive(first);
    const begun = first.transactions.filter(({ step }) => step === '1-complete_case:case');
    expect(begun).toHaveLength(1);
    // The condition was decided when the step started, whatever the case contains now.
    const secondTestHost = host(steps, {
      case: { ...aCase, data: '{"amount": 1}' },
      transactions: begun,
      emittedEvents: first.events.slice(0, 1),
    });
    expect(await drive(secondTestHost)).toEqual({ status: 'completed' });
    expect(secondTestHost.actions).toEqual([]);
    expect(secondTestHost.transactions.map(({ step }) => step)).toEqual(['1-complete_case:case', '1-complete_case', '2-say']);
  });

  it('determine the queues that a procedure adds cases to', () => {
    const text =
      'version: 1\nsteps:\n  - create_case: { queue: a, title: t }\n  - create_case: { queue: "{{ message }}", title: t }\n  - say: hi\n';
    expect(scriptRuntime.queuesOf?.(text)).toEqual(['a']);
  });
});

it('a message that arrives between two steps is the last one for the next step', async () => {
  const messages = ['first'];
  const run = host('- create_case: { queue: q, title: t }\n- say: "{{ messages.size }} {{ message }}"', {
    ...{ case: aCase, messages },
    acts: () => {
      messages.push('second');
      return { id: 'new' };
    },
  });
  await drive(run);
  expect(run.texts).toEqual(['2 second']);
});
