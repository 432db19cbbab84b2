/** Picking a missing value from a list: when it is offered, what the list contains, and that Enter alone destroys nothing. */
import { describe, expect, it } from 'vitest';
import type { AnyCommand } from '../../../src/cli/kit/command.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import { canPick, pick } from '../../../src/cli/picking/pick.ts';
import type { Choice } from '../../../src/terminal/prompts.ts';
import { failureOf } from '../../client/harness.ts';

const now = Date.parse('2026-07-18T09:00:00.000Z');
const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

interface PickQuestion {
  message: string;
  choices: Choice<string>[];
}

/** A context in which a person picks a row of each list by its position, or else the first one. */
function pickWith(answers: Record<string, unknown>, positions: number[] = [], { columns = 80, profiles = [] as object[] } = {}) {
  const calls: [operation: string, input: Record<string, unknown>][] = [];
  const outputs: PickQuestion[] = [];
  const signal = new AbortController().signal;
  const context = {
    client: async () => ({
      call: async (operation: string, input: Record<string, unknown>) => {
        calls.push([operation, input]);
        const answer = answers[operation];
        return typeof answer === 'function' ? answer(input) : answer;
      },
    }),
    clock: { now: () => now },
    flags: {},
    format: 'table',
    signal,
    store: { profiles: () => profiles },
    teamId: () => uuidOf(9),
    terminal: { interactive: true, err: { columns } },
    prompter: {
      search: async (question: PickQuestion, options: unknown) => {
        expect(options).toEqual({ signal });
        outputs.push(question);
        return question.choices[positions.shift() ?? 0]?.value;
      },
    },
  } as unknown as Context;
  return { context, calls, outputs };
}

const harmlessCommand = {} as AnyCommand;
const destructive = { destructive: true } as AnyCommand;
const agents = {
  agents: [
    { id: uuidOf(1), name: 'invoices' },
    { id: uuidOf(2), name: 'support' },
  ],
};

describe('picking', () => {
  it('is offered only on an interactive terminal, to people, and for values that can be listed', () => {
    const { context } = pickWith({});
    expect((['runs', 'agents', 'labels', 'profiles', 'cases'] as const).map((source) => canPick(context, source))).toEqual(
      Array.from({ length: 5 }, () => true),
    );
    expect([canPick(context, 'files'), canPick(context, undefined)]).toEqual([false, false]);
    for (const change of [{ terminal: { interactive: false } }, { format: 'json' }, { flags: { fields: 'id' } }, { flags: { jq: '.' } }])
      for (const source of ['agents', 'profiles', 'cases'] as const)
        expect(canPick({ ...context, ...change } as unknown as Context, source)).toBe(false);
  });

  it('returns the value of the row', async () => {
    const { context, outputs, calls } = pickWith({ listAgents: agents }, [1]);
    expect(await pick(context, harmlessCommand, { complete: 'agents' }, undefined)).toBe('support');
    expect(outputs).toEqual([
      {
        message: 'Which agent?',
        choices: [
          { value: 'invoices', name: 'invoices' },
          { value: 'support', name: 'support' },
        ],
      },
    ]);
    expect(calls).toEqual([['listAgents', { params: { teamId: uuidOf(9) }, query: { limit: 50 } }]]);
  });

  it.each<[string, AnyCommand, object]>([
    ['a destructive command', destructive, {}],
    ['an argument that needs care', harmlessCommand, { needsCare: true }],
  ])('of %s highlights a row that picks nothing', async (_, command, settings) => {
    const { context, outputs } = pickWith({ listAgents: agents });
    const failure = await failureOf(pick(context, command, { complete: 'agents', pick: settings }, undefined));
    expect(failure).toMatchObject({ code: 'not_confirmed', exit: 2, message: 'Nothing was changed, because no agent was picked.' });
    expect(outputs[0]?.choices.map(({ name }) => name)).toEqual(['None of these', 'invoices', 'support']);
    const second = pickWith({ listAgents: agents }, [1]);
    expect(await pick(second.context, command, { complete: 'agents', pick: settings }, undefined)).toBe('invoices');
  });

  it('says what to do when there is nothing to pick', async () => {
    const { context, outputs } = pickWith({ listAgents: { agents: [] }, listRuns: { data: [] } });
    expect(await failureOf(pick(context, destructive, { complete: 'agents' }, undefined))).toMatchObject({
      code: 'nothing_to_pick',
      exit: 3,
      message: 'There are no agents to pick from.',
      hint: 'Create one with `aops agents create NAME --procedure FILE`.',
    });
    expect(await failureOf(pick(context, harmlessCommand, { complete: 'runs' }, undefined))).toMatchObject({
      message: 'There are no runs to pick from.',
      hint: 'Start one with `aops runs start`.',
    });
    expect(await failureOf(pick(context, harmlessCommand, { complete: 'runs', pick: { runs: 'waiting' } }, undefined))).toMatchObject({
      message: 'There are no waiting runs to pick from.',
      hint: 'See all runs with `aops runs list`.',
    });
    expect(outputs).toEqual([]);
  });

  it('of a case asks for its queue first', async () => {
    const cases = [{ id: uuidOf(5), title: 'Invoice 5', display_status: 'failed' }];
    const queues = [
      { id: uuidOf(3), name: 'invoices', description: null },
      { id: uuidOf(4), name: 'support', description: 'Questions' },
    ];
    const { context, outputs, calls } = pickWith({ listQueues: { queues, total: 2 }, listCases: { cases } }, [1]);
    expect(await pick(context, harmlessCommand, { complete: 'cases' }, undefined)).toBe(uuidOf(5));
    expect(outputs.map(({ message, choices }) => [message, choices.map(({ name }) => name)])).toEqual([
      ['Which queue?', ['invoices', 'support  Questions']],
      ['Which case?', ['failed  Invoice 5']],
    ]);
    expect(calls.at(-1)).toEqual(['listCases', { params: { queue_id: uuidOf(4) }, query: { limit: 100 } }]);
  });

  it('shows an ID after its description, and a profile with its address', async () => {
    const artifacts = [
      { id: uuidOf(7), status: 'completed', title: 'Week' },
      { id: uuidOf(8), status: 'running', title: null },
    ];
    const { context, outputs } = pickWith({ listArtifacts: { artifacts } }, [], {
      profiles: [{ name: 'work', base_url: 'https://x.example' }],
    });
    expect(await pick(context, harmlessCommand, { complete: 'artifacts' }, undefined)).toBe(uuidOf(7));
    expect(await pick(context, harmlessCommand, { complete: 'profiles' }, undefined)).toBe('work');
    expect(outputs.map(({ choices }) => choices[0]?.name)).toEqual([`completed  Week  ${uuidOf(7)}`, 'work  https://x.example']);
    expect(outputs[0]?.choices[1]?.name).toBe(`running  ${uuidOf(8)}`);
    const integrations = [
      { id: uuidOf(7), name: 'erp', server_url: 'https://erp.example' },
      { id: uuidOf(8), name: 'crm', server_url: null },
    ];
    const second = pickWith({ listConnections: { integrations } });
    await pick(second.context, harmlessCommand, { complete: 'connections' }, undefined);
    expect(second.outputs[0]?.choices.map(({ name }) => name)).toEqual(['erp  https://erp.example', 'crm']);
  });

  it('of a revision lists the newest of each agent', async () => {
    const revisions = [
      { id: uuidOf(1), name: 'invoices', latest_build: { revision_number: 7 } },
      { id: uuidOf(2), name: 'support', latest_build: null },
    ];
    const { context, outputs } = pickWith({ listAgents: { agents: revisions } });
    await pick(context, harmlessCommand, { complete: 'revisions' }, undefined);
    expect(outputs[0]?.choices.map(({ value }) => value)).toEqual(
      ['live', 'latest', '7', '6', '5', '4', '3'].map((revision) => `invoices@${revision}`),
    );
  });

  it('of a value that belongs to an agent or a queue lists those of its owner', async () => {
    const schedules = (owner: string) => (owner === uuidOf(2) ? [{ id: uuidOf(6), frequency: 'daily' }] : []);
    const answers = {
      listAgents: agents,
      listAgentMemoryFiles: ({ params }: { params: { agent_id: string } }) => ({
        files: schedules(params.agent_id).map(() => ({ path: 'notes.md', updated_at: null })),
      }),
    };
    for (const owner of ['support', uuidOf(2)]) {
      const { context, outputs } = pickWith(answers);
      expect(await pick(context, harmlessCommand, { complete: 'memory' }, owner)).toBe('notes.md');
      expect(outputs[0]?.choices).toEqual([{ value: 'notes.md', name: 'notes.md' }]);
    }
    for (const owner of ['invoices', 'unknown', undefined])
      expect(await failureOf(pick(pickWith(answers).context, harmlessCommand, { complete: 'memory' }, owner))).toMatchObject({
        code: 'nothing_to_pick',
      });
  });
});

describe('picking a run', () => {
  const run = (number: number, status: string, minutesAgo: number | null) => ({
    id: uuidOf(number),
    run_number: number,
    status,
    agent_name: 'invoices',
    title: `Title ${number} that goes on and on for longer than the terminal is wide, so that it is shortened`,
    created_at: minutesAgo === null ? null : new Date(now - minutesAgo * 60_000).toISOString(),
  });
  const runs = [run(1, 'waiting', 30), run(20, 'running', 20), run(3, 'completed', 10), run(4, 'waiting', 5), run(5, 'pending', null)];
  const listRuns = ({ query }: { query: { status?: string } }) => ({
    data: query.status === undefined ? runs : runs.filter(({ status }) => status === query.status),
  });
  const runPick = async (state: 'waiting' | 'active' | undefined, answer: unknown, columns = 80) => {
    const { context, outputs, calls } = pickWith({ listRuns: answer }, [], { columns });
    await pick(context, harmlessCommand, { complete: 'runs', ...(state && { pick: { runs: state } }) }, undefined);
    return { message: outputs[0]?.message, choices: outputs[0]?.choices ?? [], queries: calls.map(([, { query }]) => query) };
  };

  it('lists all runs in aligned columns that fit the terminal', async () => {
    const { message, choices, queries } = await runPick(undefined, listRuns);
    expect(message).toBe('Which run?');
    expect(queries).toEqual([{ limit: 100 }]);
    expect(choices.map(({ value }) => value)).toEqual(runs.map(({ id }) => id));
    expect(choices[0]?.name).toBe('#1   waiting    30m ago  invoices: Title 1 that goes on and on for longer th…');
    expect(choices[1]?.name).toMatch(/^#20 {2}running {4}20m ago {2}invoices: /);
    expect(choices[4]?.name).toMatch(/^#5 {3}pending {13}invoices: /);
    for (const { name } of choices) expect(name.length).toBeLessThanOrEqual(77);
    const narrow = await runPick(undefined, listRuns, 20);
    expect(narrow.choices[0]?.name).toBe('#1   waiting    30m ago  invoices:…');
  });

  it('lists waiting runs, even if the service ignores the filter', async () => {
    for (const answer of [listRuns, { data: runs }]) {
      const { message, choices, queries } = await runPick('waiting', answer);
      expect(message).toBe('Which waiting run?');
      expect(queries).toEqual([{ limit: 100, status: 'waiting' }]);
      expect(choices.map(({ value }) => value)).toEqual([uuidOf(4), uuidOf(1)]);
    }
  });

  it('lists active runs, newest first', async () => {
    const { message, choices } = await runPick('active', listRuns);
    expect(message).toBe('Which active run?');
    expect(choices.map(({ value }) => value)).toEqual([uuidOf(4), uuidOf(20), uuidOf(1), uuidOf(5)]);
  });
});
