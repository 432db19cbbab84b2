/** An execution that has lost its run tries every write there is: nothing changes, in the database or on the disk. */
import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { RunLostError } from '../../../../src/service/engine/runs/run-record.ts';
import type { RunSession } from '../../../../src/service/engine/runs/run-session.ts';
import { failureOf } from '../../../client/harness.ts';
import { png } from '../../../support/png.ts';
import { type Execution, startExecution } from '../../helpers/execution.ts';
import { allRows } from '../../helpers/rows.ts';

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
  [
    'its last step with its completion',
    (session) => session.commit('step', { done: true }, [{ kind: 'text', id: 'm', text: 'Done' }], undefined, { status: 'completed' }),
  ],
  [
    'its last step with its failure, a picture, and a memory file',
    (session) =>
      session.commit(
        'step',
        null,
        [{ kind: 'screenshot', id: 'p', toolName: 'browse', startedAt: new Date(0), image: picture }],
        { path: 'notes.md', content: 'x', append: false },
        { status: 'failed', error: 'no' },
      ),
  ],
  ['its failure', (session) => session.finish({ status: 'failed', error: 'no' })],
  ['a human request', (session) => session.finish({ status: 'waiting', step: 'ask', request })],
  ['a pause', (session) => session.finish({ status: 'sleeping', until: 1 })],
];

const losses: [string, (run: Execution) => Promise<unknown>][] = [
  ['its job was claimed by another worker', ({ takeOver }) => takeOver()],
  ['its job was revoked', ({ db }) => sql`update jobs set status = 'done', owner = null, epoch = epoch + 1`.execute(db)],
  ['its job is due again', ({ db }) => sql`update jobs set status = 'queued', owner = null`.execute(db)],
  ['the run was stopped', ({ db }) => sql`update runs set status = 'interrupted', completed_at = '2026-07-02'`.execute(db)],
  ['the run waits for a person', ({ db }) => sql`update runs set status = 'waiting'`.execute(db)],
  ['the service is shutting down', async ({ abort }) => abort()],
  ['the run was removed', ({ db }) => sql`delete from runs`.execute(db)],
];

it.each(losses)('when %s, an execution can write nothing', async (_, lose) => {
  const run = await startExecution();
  await lose(run);
  const before = await allRows(run.db);
  for (const [label, write] of writes) {
    expect(await failureOf(write(run.session)), label).toBeInstanceOf(RunLostError);
    expect(await allRows(run.db), label).toEqual(before);
  }
  const files = await readdir(run.files, { recursive: true, withFileTypes: true }).catch(() => []);
  expect(files.filter((entry) => entry.isFile())).toEqual([]);
});

it.each(writes)('an execution that owns its job can write %s', async (_, write) => {
  const run = await startExecution();
  const before = await allRows(run.db);
  await write(run.session);
  expect(await allRows(run.db)).not.toEqual(before);
});
