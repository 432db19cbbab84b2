/** An execution that has lost its run tries every write there is: nothing changes, in the database or on the disk. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { BackupHolds } from '../../../../src/service/engine/backup/backup-hold.ts';
import { RunLostError, RunSession, type SessionEngine } from '../../../../src/service/engine/runs/run-session.ts';
import { FileStore } from '../../../../src/service/files/file-store.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox.ts';
import { fileCopies } from '../../../../src/service/store/database/sqlite/file-hold.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { enqueueJob, takeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { runById } from '../../../../src/service/store/runs/runs.ts';
import { failureOf } from '../../../client/harness.ts';
import { png } from '../../../support/png.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { allRows } from '../../helpers/rows.ts';

/** A run of a case in progress, and an execution that owns its job. */
async function executing() {
  const folder = await temporaryDirectory();
  const db = await openDatabase(folder);
  const clock = new ManualClock();
  // Rows of the tables in between are left out.
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`insert into teams (id, name, created_at) values ('t', 'Team', '')`.execute(db);
  await sql`insert into agents (id, team_id, name, name_folded, created_at, updated_at) values ('a', 't', 'Agent', 'agent', '', '')`.execute(
    db,
  );
  await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Queue', '', '')`.execute(db);
  await sql`insert into cases (id, queue_id, number, title, data, search_text, status, priority, claimed_by_run_id, created_at, updated_at)
    values ('c', 'q', 1, 'Case', '{}', '', 'pending', 0, 'r', '', '')`.execute(db);
  await sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
    turn, submitted_prompt_count, resume_count, case_id, webhook_url, created_at, updated_at)
    values ('r', 't', 'a', 'b', 1, '', '', 'running', 'api', 's', 'script', 'h', 1, 0, 0, 'c', 'http://127.0.0.1:9/', '2026-07-01T00:00:00.000Z', '')`.execute(
    db,
  );
  await enqueueJob(db, { kind: 'run', subjectId: 'r', dueAt: 0 });
  const queued = await db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  const by = { owner: 'first', now: clock.now(), lease: 1_000 };
  const claim = await takeJob(db, queued, by);
  const files = new FileStore(path.join(folder, 'files'));
  const backups = new BackupHolds({ copies: fileCopies(db), clock, log: () => undefined });
  afterTest(async () => {
    backups.close();
    await db.destroy();
  });
  const engine = {
    ...{ store: db, clock, files, backups, exec: 'off' as const, browsing: { policy: 'off' as const, searchPath: '' } },
    log: () => undefined,
    worker: { wake: () => undefined, woken: () => new Promise(() => undefined), isWaitedFor: () => false, abort: () => undefined },
  } as unknown as SessionEngine;
  const controller = new AbortController();
  const session = new RunSession({
    ...{ engine, agentName: 'Agent', procedure: '', interruptions: 0, signal: controller.signal },
    claim: claim as NonNullable<typeof claim>,
    run: (await runById(db, 'r')) as NonNullable<Awaited<ReturnType<typeof runById>>>,
    sandbox: await new SandboxStore(path.join(folder, 'sandboxes')).create('s'),
  });
  await session.load();
  return {
    db,
    session,
    files: path.join(folder, 'files'),
    abort: () => controller.abort(),
    takeOver: () => takeJob(db, claim as NonNullable<typeof claim>, { ...by, owner: 'second' }),
  };
}

type Executing = Awaited<ReturnType<typeof executing>>;

const picture = { name: 'a.png', mimeType: 'image/png', bytes: png(1, 1, [1, 2, 3]) };
const request = { type: 'approval' as const, title: 'Pay?' };
const writes: [string, (session: RunSession) => Promise<unknown>][] = [
  ['a message', (session) => session.emit([{ kind: 'text', id: 'm', text: 'Hello' }])],
  [
    'a screenshot',
    (session) => session.emit([{ kind: 'screenshot', id: 'p', toolName: 'browse', startedAt: new Date(0), image: picture }]),
  ],
  ['a step', (session) => session.commit('step', { done: true }, [{ kind: 'text', id: 'm', text: 'Done' }])],
  [
    'a tool call with its result',
    (session) =>
      session.emit([
        { kind: 'tool_call', id: 'call', name: 'exec', arguments: {} },
        { kind: 'tool_result', id: 'result', callId: 'call', result: {} },
      ]),
  ],
  ['a memory file', (session) => session.commit('step', 1, [], { path: 'notes.md', content: 'x', append: false })],
  ['the end of its case', (session) => session.act('step', { do: 'complete' })],
  ['the failure of its case', (session) => session.act('step', { do: 'fail', reason: 'no' })],
  ['the postponement of its case', (session) => session.act('step', { do: 'postpone', until: 1 })],
  [
    'a new case',
    (session) => session.act('step', { do: 'create', queue: 'Queue', draft: { title: 'New', data: '{}', labels: [] } as never }),
  ],
  ['its completion', (session) => session.finish({ status: 'completed' })],
  ['its failure', (session) => session.finish({ status: 'failed', error: 'no' })],
  ['a human request', (session) => session.finish({ status: 'waiting', step: 'ask', request })],
  ['a pause', (session) => session.finish({ status: 'sleeping', until: 1 })],
];

const losses: [string, (run: Executing) => Promise<unknown>][] = [
  ['its job was claimed by another worker', ({ takeOver }) => takeOver()],
  ['its job was revoked', ({ db }) => sql`update jobs set status = 'done', owner = null, epoch = epoch + 1`.execute(db)],
  ['its job is due again', ({ db }) => sql`update jobs set status = 'queued', owner = null`.execute(db)],
  ['the run was stopped', ({ db }) => sql`update runs set status = 'interrupted', completed_at = '2026-07-02'`.execute(db)],
  ['the run waits for a person', ({ db }) => sql`update runs set status = 'waiting'`.execute(db)],
  ['the service is shutting down', async ({ abort }) => abort()],
  ['the run was removed', ({ db }) => sql`delete from runs`.execute(db)],
];

it.each(losses)('when %s, an execution can write nothing', async (_, lose) => {
  const run = await executing();
  await lose(run);
  const before = await allRows(run.db);
  for (const [what, write] of writes) {
    expect(await failureOf(write(run.session)), what).toBeInstanceOf(RunLostError);
    expect(await allRows(run.db), what).toEqual(before);
  }
  const files = await readdir(run.files, { recursive: true, withFileTypes: true }).catch(() => []);
  expect(files.filter((entry) => entry.isFile())).toEqual([]);
});

it.each(writes)('an execution that owns its job can write %s', async (_, write) => {
  const run = await executing();
  const before = await allRows(run.db);
  await write(run.session);
  expect(await allRows(run.db)).not.toEqual(before);
});

it('a screenshot that is recorded again leaves no second file', async () => {
  const run = await executing();
  const screenshot = () => run.session.emit([{ kind: 'screenshot', id: 'p', toolName: 'browse', startedAt: new Date(0), image: picture }]);
  const files = async () => (await readdir(run.files, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  await screenshot();
  const [before, rows] = [await files(), await run.db.selectFrom('run_files').selectAll().execute()];
  await screenshot();
  expect(await files()).toEqual(before);
  expect(await run.db.selectFrom('run_files').selectAll().execute()).toEqual(rows);
});
