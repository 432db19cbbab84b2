/** How much a database that several nodes use has to do for a run. Change the numbers only with a reason. */
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { config, startApi } from '../../helpers/service.ts';

/** What does not belong to a run, or depends on what happens at the same moment, such as how often the test reads the run. */
const isTimed = (text: string): boolean =>
  /"queued run"|pg_notify|"nodes"|"rate_windows"|^select \* from "runs" where "id" = \$1 and "team_id" = \$2$/.test(text);

/** The statements that this process sends to databases from now on. */
function sentStatements(): string[] {
  const texts: string[] = [];
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement] = args as [string | { text: string }];
    const text = typeof statement === 'string' ? statement : statement.text;
    if (!isTimed(text)) texts.push(text);
    return Reflect.apply(query, this, args);
  } as typeof query);
  afterTest(async () => spy.mockRestore());
  return texts;
}

describeNeeding(needsPostgres, 'a run', () => {
  it.each([
    [1, { transactions: 3, statements: 47 }],
    [5, { transactions: 7, statements: 75 }],
  ])('of %i steps needs few statements', async (steps, expected) => {
    const statements = sentStatements();
    const api = await startApi({ runtimes: [scriptRuntime], database: { url: await newDatabase() } });
    const procedure = `version: 1\nsteps:\n${'  - say: Done.\n'.repeat(steps)}`;
    const { agent } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config(procedure, 'script') } } });
    const execute = async (key: string): Promise<void> => {
      statements.length = 0;
      const { run } = (await api.call('startRun', { body: { agent_id: agent.id }, headers: { 'idempotency-key': key } })).body;
      await api.until(run.id, 'completed');
    };
    await execute('first');
    await execute('second');
    expect({ transactions: statements.filter((text) => text === 'begin').length, statements: statements.length }).toEqual(expected);
  });
});
