/**
 * A disk that fails, or takes its time, between what a request writes and its response: for every change of the contract. A new
 * operation is tested by this file as soon as it has a row in the contract.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type Libsql from 'libsql';
import { describe, expect, it, vi } from 'vitest';
import type { OperationId } from '../../../src/interface/operations.ts';
import { afterTest } from '../../support/temporary.ts';
import { fileHandles, heldDisk, manyTurns, nextTurn, serviceCommits } from '../helpers/disk.ts';
import { codeOf, fillable, filledTeam } from '../helpers/everything.ts';
import { keyedInOrder, refusedInOrder, retired, sendable } from '../helpers/keyed.ts';
import { Gate } from '../helpers/runtime.ts';
import type { Answer, Api } from '../helpers/service.ts';

const changes = keyedInOrder.filter((id) => !retired.includes(id));
const isReplayed = ({ headers }: Answer): boolean => headers['idempotency-replayed'] === 'true';
const diskFull = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });

/** Waits until no background job is due, so that only requests change anything. The clock of the service does not advance. */
async function waitUntilSettled(database: Libsql.Database): Promise<void> {
  const count = database.prepare("select count(*) as jobs from jobs where status = 'running' or (status = 'queued' and due_at <= ?)");
  const now = Date.parse('2026-07-18T09:00:00.000Z');
  while ((count.get(now) as { jobs: number }).jobs > 0) await nextTurn();
}

/** Every row of the database, and every other file with its size. As text, which takes much less time to compare. */
function contentOf({ dataDirectory }: Api, database: Libsql.Database): { rows: string; files: string } {
  const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all() as { name: string }[];
  const rows = tables.flatMap(({ name }) => [
    name,
    ...database
      .prepare(`select * from "${name}"`)
      .raw()
      .all()
      .map((row) => JSON.stringify(row)),
  ]);
  const paths = readdirSync(dataDirectory, { recursive: true, encoding: 'utf8' }).filter((path) => !path.startsWith('aops.db'));
  const files = paths.sort().map((path) => `${path}: ${statSync(join(dataDirectory, path)).size} bytes`);
  return { rows: rows.join('\n'), files: files.join('\n') };
}

/** Files are written before the response is stored, because an upload that was acknowledged must not be lost. A retry replaces the file. */
const leavesFiles: readonly OperationId[] = ['uploadSandboxFile'];

describe('a change', () => {
  it('leaves nothing behind and its key free if the disk is full, and is answered only when it is on the disk', async () => {
    const commits = serviceCommits();
    const api = await fillable();
    const of = await filledTeam(api);
    const database = commits.database as Libsql.Database;
    const refusals: typeof refusedInOrder = {};
    for (const id of changes) {
      const send = await sendable(api, id, of);
      const key = `key-of-${id}`;
      await waitUntilSettled(database);
      const before = contentOf(api, database);
      // The response can no longer be stored, or everything that was written cannot be committed.
      for (const failing of [/^insert into "idempotency_keys"/, /^commit$/]) {
        Object.assign(commits, { failure: diskFull, failing });
        expect(codeOf(await send(key)), `${id} ${failing}`).toEqual([503, 'disk_full']);
        commits.failure = undefined;
        const { files, rows } = contentOf(api, database);
        expect(rows, `${id} ${failing}`).toEqual(before.rows);
        if (!leavesFiles.includes(id)) expect(files, `${id} ${failing}`).toEqual(before.files);
      }
      const goOn = new Gate();
      const syncs = await heldDisk(goOn);
      let isAnswered = false;
      const retryResult = send(key).finally(() => (isAnswered = true));
      while (!isAnswered && syncs.mock.calls.length === 0) await nextTurn();
      await manyTurns();
      expect(isAnswered, id).toBe(false);
      goOn.open();
      const answer = await retryResult;
      syncs.mockRestore();
      if (answer.status >= 400) refusals[id] = codeOf(answer)[1] as string;
      expect([answer.status < 500, isReplayed(answer)], `${id} ${answer.text}`).toEqual([true, false]);
      const again = await send(key);
      expect([again.status, again.text, isReplayed(again)], id).toEqual([answer.status, answer.text, true]);
    }
    expect(refusals).toEqual(refusedInOrder);
  });

  it('is refused if the disk fails while it is saved', async () => {
    const api = await fillable();
    const of = await filledTeam(api);
    const sends = await Promise.all(changes.map((id) => sendable(api, id, of)));
    const handles = await fileHandles();
    const sync = vi.spyOn(handles, 'datasync').mockRejectedValue(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
    afterTest(async () => sync.mockRestore());
    const answers = await Promise.all(sends.map((send, index) => send(`key-of-${changes[index]}`)));
    expect(answers.map((answer, index) => [changes[index], ...codeOf(answer)])).toEqual(changes.map((id) => [id, 503, 'disk_failed']));
  });
});
