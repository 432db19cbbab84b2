/** What an execution that owns its run records, and what it sees of it. */
import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { postedMessage } from '../../../../src/service/engine/runs/messages.ts';
import { appendMessages } from '../../../../src/service/store/runs/messages.ts';
import { png } from '../../../support/png.ts';
import { startExecution } from '../../helpers/execution.ts';

const picture = { name: 'a.png', mimeType: 'image/png', bytes: png(1, 1, [1, 2, 3]) };

it('a screenshot that is recorded again leaves no second file', async () => {
  const run = await startExecution();
  const screenshot = () => run.session.emit([{ kind: 'screenshot', id: 'p', toolName: 'browse', startedAt: new Date(0), image: picture }]);
  const files = async () => (await readdir(run.files, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  await screenshot();
  const [before, rows] = [await files(), await run.db.selectFrom('run_files').selectAll().execute()];
  await screenshot();
  expect(await files()).toEqual(before);
  expect(await run.db.selectFrom('run_files').selectAll().execute()).toEqual(rows);
});

it('a step keeps its first result, which is the same now and after a restart', async () => {
  const { session, reload } = await startExecution();
  const epoch = new Date(0);
  await session.commit('step', { at: epoch, nothing: undefined });
  await session.commit('step', 'again');
  await session.commit('empty', undefined);
  await session.act('done', { do: 'complete' });
  await session.act('done', { do: 'complete' });
  const journal = [
    ['step', { at: epoch.toISOString() }],
    ['empty', null],
    ['done', { case_id: 'c', status: 'completed' }],
  ];
  expect([...session.journal]).toEqual(journal);
  expect(new Map((await reload()).journal)).toEqual(new Map(journal as [string, unknown][]));
});

it('memory includes what steps have written, whether it was read before or not', async () => {
  const { session, reload } = await startExecution();
  await session.commit('first', null, [], { path: 'notes.md', content: 'one', append: false });
  expect([...(await session.memory())]).toEqual([['notes.md', 'one']]);
  await session.commit('second', null, [], { path: 'notes.md', content: 'two', append: true });
  expect([...(await session.memory())]).toEqual([['notes.md', 'one\ntwo']]);
  expect([...(await (await reload()).memory())]).toEqual([['notes.md', 'one\ntwo']]);
});

it('each message of a person is seen once, and one that comes too late begins the next turn', async () => {
  const { db, session } = await startExecution();
  const post = (text: string) => appendMessages(db, 'r', [postedMessage({ id: 'r', turn: 1 }, text, '2026-07-18T09:00:00.000Z')]);
  await post('one');
  await session.emit([]);
  await session.emit([]);
  expect(session.userMessages).toEqual(['one']);
  await post('two');
  await session.finish({ status: 'completed' });
  const run = () => db.selectFrom('runs').select(['status', 'turn', 'resume_count', 'completed_at']).executeTakeFirstOrThrow();
  expect(await run()).toEqual({ status: 'pending', turn: 2, resume_count: 1, completed_at: null });
  expect(await db.selectFrom('jobs').select('status').where('kind', '=', 'run').executeTakeFirst()).toEqual({ status: 'queued' });
});

it('a run ends with its last step if all messages were sent before that was recorded', async () => {
  const { db, session } = await startExecution();
  await appendMessages(db, 'r', [postedMessage({ id: 'r', turn: 1 }, 'before', '2026-07-18T09:00:00.000Z')]);
  await session.commit('last', null, [], undefined, { status: 'completed' });
  expect(session.userMessages).toEqual(['before']);
  expect(await db.selectFrom('runs').select(['status', 'turn']).executeTakeFirstOrThrow()).toEqual({ status: 'completed', turn: 1 });
});

it('a run that waits reports that, and what it asks, and wakes the worker that delivers both', async () => {
  const { db, reload, wakes } = await startExecution();
  await sql`update runs set case_id = null`.execute(db);
  await (await reload()).finish({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay?' } });
  const events = await db.selectFrom('events').select('kind').orderBy('kind').execute();
  expect(events.map(({ kind }) => kind)).toEqual(['human_request.created', 'run.paused']);
  expect(wakes()).toBe(1);
});

it('whatever the run of a case writes wakes the worker, because there may be space for another case', async () => {
  const { db, session, reload, wakes } = await startExecution();
  await session.emit([]);
  expect(wakes()).toBe(1);
  await sql`update runs set case_id = null, webhook_url = null`.execute(db);
  await (await reload()).emit([]);
  expect(wakes()).toBe(1);
});

it('the session of an agent continues after a restart', async () => {
  const { session, reload } = await startExecution();
  const agent = { name: 'a', version: '1', mode: null, asks: true, sessionId: 's', promptedMessages: 2, usage: null };
  await session.saveAgentSession(agent);
  expect([session.agentSession, (await reload()).agentSession]).toEqual([agent, agent]);
});
