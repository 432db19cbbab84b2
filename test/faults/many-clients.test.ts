/**
 * Clients of two nodes carry out random operations at the same time, on a few things that all of them know. No request fails, the database
 * never has to end a transaction for another one, and everything remains consistent.
 */
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { ManualClock } from '../service/helpers/clock.ts';
import { inconsistencies } from '../service/helpers/consistency.ts';
import { lateLocks } from '../service/helpers/lock-order.ts';
import { openNode } from '../service/helpers/postgres.ts';
import { type Api, startApi } from '../service/helpers/service.ts';
import { eventually } from '../support/eventually.ts';
import { needsPostgres, newDatabase } from '../support/postgres.ts';
import { describeNeeding } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary.ts';
import { behaviours, nextMove, Player } from './random-operations.ts';

const clients = 12;
const stepsOfClient = 60;

describeNeeding(needsPostgres, 'clients of two nodes', () => {
  it('do not end the transactions of others, and leave everything consistent', async () => {
    const late = lateLocks();
    const url = await newDatabase();
    const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
    const clock = new ManualClock();
    const options = {
      clock,
      behaviours,
      rateLimit: { limit: 1e9, windowSeconds: 60 },
      database: { url, maxConnections: 8, secretKeyFile },
    };
    const apis = [await startApi(options), await startApi(options)];
    const player = new Player(7);
    const failures: unknown[] = [];
    const client = async (): Promise<void> => {
      for (let step = 0; step < stepsOfClient; step++) {
        // Schedules start runs in the meantime.
        if (player.below(10) === 0) clock.advance(10_000);
        const { status, text } = await nextMove(player)(player, player.one(apis) as Api);
        if (status >= 500) failures.push([status, text, ...player.trail.slice(-clients)]);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    expect(failures).toEqual([]);
    expect([...late]).toEqual([]);

    const store = await openNode(url);
    const due = sql`select 1 from runs where status = 'pending'`;
    await eventually('every run has been started', async () => (await due.execute(store)).rows.length === 0);
    // A connection reports its figures when it ends.
    for (const api of apis) await api.service.close();
    expect(await inconsistencies(store)).toEqual([]);
    const figures = sql`select deadlocks from pg_stat_database where datname = current_database()`;
    expect((await figures.execute(store)).rows).toEqual([{ deadlocks: 0 }]);
  });
});
