/** Stored data that a bad disk has damaged: a failure of the requests that need it, and of no other. */
import { join } from 'node:path';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import type { LogEntry } from '../../../src/service/log.ts';
import { eventually } from '../../support/eventually.ts';
import { type Api, startApi } from '../helpers/service.ts';

async function twoRuns(api: Api) {
  const runs = [await api.run('done', 'first'), await api.run('done', 'second')];
  for (const { id: run_id } of runs)
    await eventually('it ends', async () => (await api.ok('getRun', { params: { run_id } })).run.status === 'completed');
  return runs as [(typeof runs)[0], (typeof runs)[0]];
}

/** The service again, after something has happened to its database. */
async function restartDamaged(api: Api, damage: string, log: (entry: LogEntry) => void = () => undefined) {
  await api.service.close();
  const database = new Libsql(join(api.dataDirectory, 'aops.db'));
  database.exec(damage);
  database.close();
  return startApi({ dataDirectory: api.dataDirectory, log });
}

it('a damaged message fails the requests for its run alone', async () => {
  const before = await startApi();
  const [damagedRun, intactRun] = await twoRuns(before);
  const logEntries: string[] = [];
  const api = await restartDamaged(
    before,
    `update messages set text_content = cast(x'41ff42' as text) where run_id = '${damagedRun.id}'`,
    ({ message, fields }) => logEntries.push(`${message}: ${fields.error}`),
  );
  const params = { run_id: damagedRun.id };
  for (const answer of [
    await api.call('listRunMessages', { params }),
    await api.call('getRunDetail', { params: { agentId: damagedRun.agent_id as string, runId: damagedRun.id } }),
  ]) {
    expect([answer.status, answer.body]).toMatchObject([500, { error: 'data_damaged' }]);
    expect((answer.body as unknown as { message: string }).message).toContain(
      `"text_content" of a row of messages (run_id ${damagedRun.id}, id `,
    );
  }
  expect(logEntries.filter((line) => line.startsWith('a request failed: Stored data is damaged'))).toHaveLength(2);
  expect((await api.ok('getRun', { params })).run.id).toBe(damagedRun.id);
  expect((await api.ok('listRunMessages', { params: { run_id: intactRun.id } })).messages).not.toEqual([]);
  expect((await api.ok('listRuns')).total).toBe(2);
});

it('a damaged run fails the lists that show it, and others work', async () => {
  const before = await startApi();
  const [damagedRun, intactRun] = await twoRuns(before);
  const api = await restartDamaged(before, `update runs set title = cast(x'ff' as text) where id = '${damagedRun.id}'`);
  expect((await api.call('listRuns', { query: { search: 'sec' } })).status).toBe(200);
  expect((await api.call('listRuns')).body).toMatchObject({ error: 'data_damaged' });
  expect((await api.call('getRun', { params: { run_id: damagedRun.id } })).status).toBe(500);
  expect((await api.ok('getRun', { params: { run_id: intactRun.id } })).run.id).toBe(intactRun.id);
  expect((await api.ok('listAgents')).total).toBe(2);
});
