/** What a transaction reads in order to decide: no other node changes it before the transaction ends. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { builderRunById, findBuilderRun } from '../../../../../src/service/store/agents/builder-runs.ts';
import { findSchedule, scheduleById } from '../../../../../src/service/store/agents/schedules.ts';
import { artifactById, findArtifact } from '../../../../../src/service/store/artifacts/artifacts.ts';
import { caseById, findCase } from '../../../../../src/service/store/cases/cases.ts';
import { findQueue } from '../../../../../src/service/store/cases/queues.ts';
import { findConnection } from '../../../../../src/service/store/connections/connections.ts';
import type { Queries } from '../../../../../src/service/store/database/database.ts';
import type { LockedTable } from '../../../../../src/service/store/database/row-locks.ts';
import { findRun, runById } from '../../../../../src/service/store/runs/runs.ts';
import { findWebhook } from '../../../../../src/service/store/webhooks/webhooks.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { temporaryDirectory } from '../../../../support/temporary.ts';
import { fillable, withEverything } from '../../../helpers/everything.ts';
import { openNode } from '../../../helpers/postgres.ts';

type Read = (trx: Queries) => Promise<unknown>;

describeNeeding(needsPostgres, 'a row that a transaction has read', () => {
  it('is locked until it ends', async () => {
    const url = await newDatabase();
    const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
    const api = await fillable({ database: { url, maxConnections: 5, secretKeyFile } });
    const ids = (await withEverything(api)) as Record<
      'agent_id' | 'queue_id' | 'case_id' | 'schedule_id' | 'builder_run_id' | 'connection_id' | 'subscriptionId' | 'run_id' | 'artifactId',
      string
    >;
    const team = api.service.teamId;
    await api.service.close();
    const [a, b] = [await openNode(url, 'a'), await openNode(url, 'b')];
    const reads: [table: LockedTable, id: string, reads: Read[]][] = [
      ['queues', ids.queue_id, [(trx) => findQueue(trx, team, ids.queue_id)]],
      ['cases', ids.case_id, [(trx) => findCase(trx, team, ids.case_id), (trx) => caseById(trx, ids.case_id)]],
      [
        'schedules',
        ids.schedule_id,
        [(trx) => findSchedule(trx, ids.agent_id, ids.schedule_id), (trx) => scheduleById(trx, ids.schedule_id)],
      ],
      [
        'builder_runs',
        ids.builder_run_id,
        [(trx) => findBuilderRun(trx, team, ids.builder_run_id), (trx) => builderRunById(trx, ids.builder_run_id)],
      ],
      ['connections', ids.connection_id, [(trx) => findConnection(trx, team, ids.connection_id)]],
      ['webhook_subscriptions', ids.subscriptionId, [(trx) => findWebhook(trx, team, ids.subscriptionId)]],
      ['runs', ids.run_id, [(trx) => findRun(trx, team, ids.run_id), (trx) => runById(trx, ids.run_id)]],
      ['artifacts', ids.artifactId, [(trx) => findArtifact(trx, team, ids.artifactId), (trx) => artifactById(trx, ids.artifactId)]],
    ];
    for (const [table, id, readsOfTable] of reads) {
      const isFree = async (): Promise<boolean> => {
        const query = b
          .selectFrom(table as 'runs')
          .select('id')
          .where('id', '=', id);
        return (await query.forNoKeyUpdate().skipLocked().execute()).length === 1;
      };
      for (const read of readsOfTable) {
        await a.transaction().execute(async (trx) => {
          expect([table, await isFree(), (await read(trx)) !== undefined, await isFree()]).toEqual([table, true, true, false]);
        });
        expect([table, await isFree()]).toEqual([table, true]);
      }
    }
  });
});
