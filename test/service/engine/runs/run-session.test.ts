/** What an execution that owns its run records, and what it sees of it. */
import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { postMessage } from '../../../../src/service/engine/runs/conversation.ts';
import type { RunSession } from '../../../../src/service/engine/runs/run-session.ts';
import { png } from '../../../support/png.ts';
import { type Execution, startExecution } from '../../helpers/execution.ts';

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

/** Sends the run a message while it is in progress. */
async function send({ db, engine }: Execution, text: string): Promise<void> {
  const rules = { checkPermission: () => undefined };
  await postMessage(engine, { teamId: 't', runId: 'r', senderId: 'p' }, text, rules);
  expect(await db.selectFrom('runs').select('unread_message').executeTakeFirst()).not.toEqual({ unread_message: null });
}

const progress = ({ db }: Execution) =>
  db.selectFrom('runs').select(['status', 'turn', 'resume_count', 'unread_message', 'completed_at']).executeTakeFirstOrThrow();
const nextTurn = { status: 'pending', turn: 2, resume_count: 1, unread_message: null, completed_at: null };

it('each message of a person is seen once, and one that comes too late begins the next turn', async () => {
  const execution = await startExecution();
  const { db, session } = execution;
  await send(execution, 'one');
  await session.emit([]);
  await session.emit([]);
  expect(session.userMessages).toEqual(['one']);
  await send(execution, 'two');
  await session.finish({ status: 'completed' });
  expect(await progress(execution)).toEqual(nextTurn);
  expect(await db.selectFrom('jobs').select('status').where('kind', '=', 'run').executeTakeFirst()).toEqual({ status: 'queued' });
});

const end = { status: 'completed' } as const;

describe.each([
  ['with its last step', (session: RunSession) => session.commit('last', null, [], undefined, end)],
  ['after its last step', (session: RunSession) => session.commit('last', null).then(() => session.finish(end))],
])('a run that ends %s', (_, finish) => {
  it('begins another turn with a message that was sent before that was recorded, but which nothing has read', async () => {
    const execution = await startExecution();
    await send(execution, 'before');
    await finish(execution.session);
    expect(await progress(execution)).toEqual(nextTurn);
  });

  it('begins no other turn with a message that has been read', async () => {
    const execution = await startExecution();
    await send(execution, 'before');
    await execution.session.commit('first', null);
    expect(execution.session.userMessages).toEqual(['before']);
    await finish(execution.session);
    expect(await progress(execution)).toMatchObject({ status: 'completed', turn: 1, unread_message: null });
  });

  it('begins no other turn with a message that an earlier execution has read', async () => {
    const execution = await startExecution();
    await execution.session.commit('first', null);
    await send(execution, 'before');
    await execution.session.commit('second', null);
    expect(execution.session.userMessages).toEqual(['before']);
    await execution.session.commit('third', null);
    await finish(await execution.reload());
    expect(await progress(execution)).toMatchObject({ status: 'completed', turn: 1 });
  });

  it('begins another turn with a message that no execution has read', async () => {
    const execution = await startExecution();
    await execution.session.commit('first', null);
    await send(execution, 'before');
    await execution.session.commit('second', null);
    await finish(await execution.reload());
    expect(await progress(execution)).toEqual(nextTurn);
  });

  it('begins no other turn with a message that was there when the turn began', async () => {
    const execution = await startExecution();
    await send(execution, 'before');
    await finish(await execution.reload());
    expect(await progress(execution)).toMatchObject({ status: 'completed', turn: 1, unread_message: null });
  });
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
