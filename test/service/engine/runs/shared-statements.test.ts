/** How much a database that several nodes use has to do for a run. Change the numbers only with a reason. */
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { openNode } from '../../helpers/postgres.ts';
import { config, startApi } from '../../helpers/service.ts';

/** What does not belong to a run, or depends on what happens at the same moment, such as how often the test reads the run. */
const isTimed = (text: string): boolean =>
  /"queued run"|pg_notify|"nodes"|"rate_windows"|"tokens"\."hash"|^select \* from "runs" where "id" = \$1 and "team_id" = \$2$/.test(text);

interface Traffic {
  statements: string[];
  /** How often something was sent on a connection on which everything had been answered. */
  roundTrips: number;
}

/** What this process sends to databases from now on. */
function watchTraffic(): Traffic {
  const traffic: Traffic = { statements: [], roundTrips: 0 };
  const unanswered = new WeakMap<pg.Client, number>();
  const change = (client: pg.Client, by: number): number => {
    const count = (unanswered.get(client) ?? 0) + by;
    unanswered.set(client, count);
    return count;
  };
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement] = args as [string | { text: string }];
    const text = typeof statement === 'string' ? statement : statement.text;
    const answer = Reflect.apply(query, this, args) as Promise<unknown> | undefined;
    // Others pass a callback.
    if (answer === undefined || isTimed(text)) return answer;
    traffic.statements.push(text);
    if (change(this, 1) === 1) traffic.roundTrips += 1;
    const noteAnswer = (): void => void change(this, -1);
    answer.then(noteAnswer, noteAnswer);
    return answer;
  } as typeof query);
  afterTest(async () => spy.mockRestore());
  return traffic;
}

describeNeeding(needsPostgres, 'a run', () => {
  it.each([
    [1, { transactions: 3, statements: 43, roundTrips: 13 }],
    [5, { transactions: 7, statements: 67, roundTrips: 21 }],
  ])('of %i steps needs few statements', async (steps, expected) => {
    const traffic = watchTraffic();
    const url = await newDatabase();
    const api = await startApi({ runtimes: [scriptRuntime], database: { url } });
    const procedure = `version: 1\nsteps:\n${'  - say: Done.\n'.repeat(steps)}`;
    const { agent } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config(procedure, 'script') } } });
    const execute = async (key: string): Promise<void> => {
      Object.assign(traffic, { statements: [], roundTrips: 0 });
      const { run } = (await api.call('startRun', { body: { agent_id: agent.id }, headers: { 'idempotency-key': key } })).body;
      await api.until(run.id, 'completed');
    };
    await execute('first');
    const observer = await openNode(url, 'observer');
    const running = observer.selectFrom('jobs').select('id').where('status', '=', 'running');
    await eventually('the jobs of the start have ended', async () => (await running.execute()).length === 0);
    await execute('second');
    const { statements, roundTrips } = traffic;
    const transactions = statements.filter((text) => text === 'begin').length;
    expect({ transactions, statements: statements.length, roundTrips }).toEqual(expected);
  });
});
