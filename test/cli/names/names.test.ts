/** Names of revisions, labels, and other things: which requests they take, and when they are refused. */
import { describe, expect, it } from 'vitest';
import type { Context } from '../../../src/cli/kit/context.ts';
import { findLabel, labelForm, labelRecord, labelText, queueLabels, readLabel } from '../../../src/cli/names/label.ts';
import { agentId, findByName, queueId } from '../../../src/cli/names/resolve.ts';
import { resolveRuns } from '../../../src/cli/names/resolve-run.ts';
import { findRevision, revisionArgument, revisionId } from '../../../src/cli/names/revision.ts';
import { ServiceAnswerError } from '../../../src/client/errors.ts';
import { failureOf } from '../../client/harness.ts';

const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const answerError = (status: number) => new ServiceAnswerError(status, { error: 'refused' }, {});

type Answer = object | ((input: { params: Record<string, string>; query: { limit: number; offset: number } }) => object);

/** A context whose service gives these answers, and the operations that were called. */
function contextWith(answers: Record<string, Answer>) {
  const calls: string[] = [];
  const call = async (id: string, input: { params: Record<string, string>; query: { limit: number; offset: number } }) => {
    calls.push(`${id} ${Object.values(input.params).join(' ')}`);
    const answer = answers[id];
    return typeof answer === 'function' ? answer(input) : answer;
  };
  const context = { client: async () => ({ call }), teamId: () => 't1' } as unknown as Context;
  return { context, calls };
}

describe('a revision', () => {
  const builds = [
    { id: uuid(13), revision_number: 3, status: 'draft' },
    { id: uuid(12), revision_number: 2, status: 'live' },
    { id: uuid(11), revision_number: 1, status: 'retired' },
  ];
  const agents = [
    { id: uuid(1), name: 'payer', latest_build: { id: uuid(90) } },
    { id: uuid(2), name: 'a@b', latest_build: null },
  ];
  const answers = { listAgents: { agents, total: 2 }, listAgentRevisions: { builds, total: 3 } };

  it.each([
    ['payer@latest', undefined, uuid(13)],
    ['payer@live', undefined, uuid(12)],
    ['payer@1', undefined, uuid(11)],
    ['a@b@2', undefined, uuid(12)],
    ['latest', 'payer', uuid(13)],
    ['2', 'payer', uuid(12)],
    [uuid(77).toUpperCase(), undefined, uuid(77)],
  ])('is named by %s with the agent %s', async (text, agent, id) => {
    expect(await revisionId(contextWith(answers).context, text, agent)).toBe(id);
  });

  it('is read for the agent before the @, whatever --agent says', async () => {
    const { context, calls } = contextWith(answers);
    await revisionId(context, 'a@b@live', 'payer');
    expect(calls).toEqual(['listAgents t1', `listAgentRevisions ${uuid(2)}`]);
  });

  it('needs no request if it is an ID', async () => {
    const { context, calls } = contextWith({});
    await revisionId(context, uuid(5));
    expect(calls).toEqual([]);
  });

  it.each([
    ['latest', undefined],
    ['@latest', 'payer'],
    ['payer@old', undefined],
    ['payer@', 'payer'],
    ['payer@0', undefined],
  ])('is not named by %s with the agent %s', async (text, agent) => {
    const { context, calls } = contextWith(answers);
    expect(await failureOf(revisionId(context, text, agent))).toMatchObject({ exit: 2, message: expect.stringContaining(`"${text}"`) });
    expect(calls).toEqual([]);
  });

  it.each(['live', 'latest', '17', 'a@b@live', uuid(1)])('can be %s as an argument', (text) => {
    expect(revisionArgument.check?.(text, 'REVISION')).toBe(text);
  });

  it.each(['old', 'payer', 'live@', 'xlive', '0', 'payer@latest~1'])('cannot be %s as an argument', (text) => {
    expect(() => revisionArgument.check?.(text, 'REVISION')).toThrow('REVISION must be a revision');
  });

  it.each([
    ['payer@4', 'The agent has no revision 4.'],
    ['payer@live', 'The agent has no live revision.'],
    ['payer@latest', 'The agent has no revisions yet.'],
  ])('that does not exist is not found: %s', async (text, message) => {
    const { context } = contextWith({ ...answers, listAgentRevisions: { builds: [], total: 0 } });
    expect(await failureOf(revisionId(context, text))).toMatchObject({ exit: 3, code: 'revision_not_found', message });
  });

  it('is read by its ID from its agent, or from the agent that has it', async () => {
    const getRevision: Answer = ({ params }) => {
      if (params.agent_id !== uuid(2)) throw answerError(404);
      return { build: { id: params.build_id } };
    };
    const { context, calls } = contextWith({ ...answers, getRevision });
    expect(await findRevision(context, uuid(7))).toEqual({ id: uuid(7) });
    expect(calls).toEqual(['listAgents t1', `getRevision ${uuid(1)} ${uuid(7)}`, `getRevision ${uuid(2)} ${uuid(7)}`]);
    calls.length = 0;
    expect(await findRevision(context, uuid(7), 'a@b')).toEqual({ id: uuid(7) });
    expect(calls).toEqual(['listAgents t1', `getRevision ${uuid(2)} ${uuid(7)}`]);
    calls.length = 0;
    // The list of agents contains the newest revision of each.
    expect(await findRevision(context, uuid(90))).toEqual({ id: uuid(90) });
    expect(calls).toEqual(['listAgents t1']);
  });

  it('is not found if no agent has it, and other failures are reported', async () => {
    const failWith =
      (status: number): Answer =>
      () => {
        throw answerError(status);
      };
    expect(await failureOf(findRevision(contextWith({ ...answers, getRevision: failWith(404) }).context, uuid(7)))).toMatchObject({
      ...{ exit: 3, code: 'revision_not_found', message: `There is no revision ${uuid(7)}.` },
    });
    expect(await failureOf(findRevision(contextWith({ ...answers, getRevision: failWith(403) }).context, uuid(7)))).toMatchObject({
      status: 403,
    });
  });
});

describe('a label', () => {
  const labels = [
    { id: uuid(1), key: 'vendor', value: 'acme', color_hue: 7, case_count: 3 },
    { id: uuid(2), key: '', value: 'acme', color_hue: 8, case_count: 0 },
    { id: uuid(3), key: 'other', value: 'a=b', color_hue: 9, case_count: 0 },
  ];
  const { context } = contextWith({ listQueueLabels: { labels } });

  it.each([
    ['vendor=acme', uuid(1)],
    ['acme', uuid(2)],
    ['other=a=b', uuid(3)],
    [uuid(3).toUpperCase(), uuid(3)],
  ])('is named by %s', async (text, id) => {
    expect((await findLabel(context, 'q1', text)).id).toBe(id);
  });

  it.each([
    ['vendor', 'See its labels'],
    ['other=acme', 'Did you mean'],
    ['vendor=acmee', 'Did you mean vendor=acme?'],
    ['zzzzzz', 'See its labels with `aops queues labels list QUEUE`.'],
    [uuid(9), 'See its labels'],
  ])('is not found: %s', async (text, hint) => {
    expect(await failureOf(findLabel(context, 'q1', text))).toMatchObject({
      ...{ exit: 3, code: 'label_not_found', message: `The queue has no label "${text}".`, hint: expect.stringContaining(hint) },
    });
  });

  it('has a text form', () => {
    expect(labels.map(labelText)).toEqual(['vendor=acme', 'acme', 'other=a=b']);
    expect([readLabel('vendor=acme'), readLabel('acme'), readLabel('=x')]).toEqual([
      { key: 'vendor', value: 'acme' },
      { value: 'acme' },
      { key: '', value: 'x' },
    ]);
  });

  it('has a number of cases only in the list of a queue', () => {
    const [label] = labels;
    const { case_count: _, ...labelOfCase } = label as (typeof labels)[number];
    expect(labelRecord(label as never)).toMatchObject({ ID: uuid(1), Cases: 3 });
    expect(labelRecord(labelOfCase as never).Cases).toBeUndefined();
  });

  it.each(['urgent', 'vendor=acme', '=acme', 'a=b=c'])('can be written as %s', (text) => {
    expect(labelForm(text, 'LABEL')).toBe(text);
  });

  it.each(['', 'vendor=', '='])('needs a value, which "%s" does not have', (text) => {
    expect(() => labelForm(text, 'LABEL')).toThrow(`LABEL must be a label such as vendor=acme or urgent, not "${text}".`);
  });

  it('can be on a further page if a page is full', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => ({ id: uuid(index), key: '', value: `v${index}` }));
    const paged = contextWith({ listQueueLabels: ({ query }) => ({ labels: many.slice(query.offset, query.offset + query.limit) }) });
    expect(await queueLabels(paged.context, 'q1')).toHaveLength(2_000);
    expect(paged.calls).toHaveLength(3);
  });
});

describe('agents and queues', () => {
  const agents = ['payer', 'shipper', 'Big shipment', 'twice', 'twice'].map((name, index) => ({ id: uuid(index), name }));
  const { context, calls } = contextWith({ listAgents: { agents, total: 5 }, listQueues: { queues: agents, total: 5 } });

  it('are found by name, and an ID needs no request', async () => {
    expect(await agentId(context, 'shipper')).toBe(uuid(1));
    expect(await queueId(context, 'payer')).toBe(uuid(0));
    calls.length = 0;
    expect(await agentId(context, 'ABCDEF00-0000-4000-8000-000000000000')).toBe('abcdef00-0000-4000-8000-000000000000');
    expect(calls).toEqual([]);
  });

  it.each([
    ['payr', 'Did you mean payer?'],
    ['SHIPM', 'Did you mean Big shipment?'],
    ['nothing like it', 'See the agents with `aops agents list`.'],
  ])('suggest a similar name for %s', async (name, hint) => {
    expect(await failureOf(agentId(context, name))).toMatchObject({ exit: 3, code: 'agent_not_found', hint });
  });

  it('are not chosen by a name that several have', async () => {
    expect(await failureOf(queueId(context, 'twice'))).toMatchObject({
      exit: 2,
      message: '2 queues are called "twice".',
      hint: `Use the ID of one of them: ${uuid(3)}, ${uuid(4)}`,
    });
  });

  it('can be without a name', async () => {
    const items = [
      { id: '1', name: null },
      { id: '2', name: 'null' },
    ];
    const source = async () => ({ word: 'thing', pageSize: 10, fetchPage: async () => ({ items, total: 2 }) });
    expect(await findByName('null', source, ({ name }) => name)).toEqual(items[1]);
    expect(await failureOf(findByName('nul', source, ({ name }) => name))).toMatchObject({ hint: 'Did you mean null?' });
  });
});

it('a run is not looked for in another way if the service refuses to list runs', async () => {
  const { context, calls } = contextWith({
    listRuns: () => {
      throw answerError(403);
    },
  });
  expect(await failureOf(resolveRuns(context, ['17']))).toMatchObject({ status: 403 });
  expect(calls).toEqual(['listRuns t1']);
});

describe('a run of a service that cannot look up runs', () => {
  const runsDown = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, index) => ({
      id: uuid(from - index),
      run_number: from - index,
      agent_name: 'a',
      title: 't',
    }));
  /** The list of the runs with these numbers, which another run joins after each page. */
  const growingList = (last: number): Answer => {
    let newest = last - 1;
    return ({ query: { offset, limit } }) => {
      newest += 1;
      return { data: runsDown(newest, 1).slice(offset, offset + limit), total: newest };
    };
  };

  it('is found while others are started, also if it is the last one of a page', async () => {
    // The second page begins with run 4901 again. Of a list this long, not all pages are read.
    for (const number of [4_901, 4_900, 4_700]) {
      const { context } = contextWith({ listRuns: growingList(5_000) });
      expect((await resolveRuns(context, [`#${number}`]))[0], String(number)).toMatchObject({ id: uuid(number), run_number: number });
    }
  });

  it('is found by the beginning of its ID, although it is listed twice', async () => {
    const last = { id: 'abcdef00-0000-4000-8000-000000000001', run_number: 300, agent_name: 'a', title: 't' };
    const listRuns: Answer = ({ query: { offset } }) => ({ data: [...(offset === 0 ? runsDown(199, 101) : []), last], total: 101 });
    expect((await resolveRuns(contextWith({ listRuns }).context, ['abcdef00']))[0]).toMatchObject({ id: last.id });
  });

  it('is not found if the list ends before the total that the service reports', async () => {
    const listRuns: Answer = ({ query: { offset, limit } }) => ({ data: runsDown(150, 1).slice(offset, offset + limit), total: 1_000 });
    for (const name of ['#151', 'abcdef00'])
      expect(await failureOf(resolveRuns(contextWith({ listRuns }).context, [name]))).toMatchObject({ code: 'run_not_found', exit: 3 });
  });
});

it('runs that are named twice appear once, with what their first name has found', async () => {
  const run = { id: uuid(7), run_number: 17, agent_name: 'a', title: 't' };
  const { context } = contextWith({ listRuns: { data: [run], total: 1 } });
  expect(await resolveRuns(context, ['#17', uuid(8), uuid(7)])).toEqual([{ id: uuid(7), run_number: 17, listItem: run }, { id: uuid(8) }]);
});
