/** How the job of an artifact ends: what becomes of the artifact, of its job, and what the log says, in each case. */
import { describe, expect, it } from 'vitest';
import { deleteArtifact } from '../../../../src/service/engine/artifacts/changes.ts';
import { artifactJob } from '../../../../src/service/engine/artifacts/driver.ts';
import {
  answerQuestion,
  createArtifact,
  messageForRun,
  type Question,
  stopArtifact,
} from '../../../../src/service/engine/artifacts/generation.ts';
import { planRefresh, refreshArtifactJob } from '../../../../src/service/engine/artifacts/schedule.ts';
import { JobAborted } from '../../../../src/service/engine/jobs/worker.ts';
import { artifactById } from '../../../../src/service/store/artifacts/artifacts.ts';
import type { ArtifactRow } from '../../../../src/service/store/database/schema.ts';
import { revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { startApi } from '../../helpers/service.ts';

/** An artifact of which this was requested. The test executes its job. */
async function requestedArtifact(message: string) {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  await api.service.close();
  const logEntries: unknown[] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes: [] }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const reader = { teamId: api.service.teamId, credentialId: 'user', isOwner: true };
  const { artifact } = await createArtifact(engine, reader, message);
  return {
    ...{ engine, clock, reader, id: artifact.id, logEntries },
    artifact: async (): Promise<ArtifactRow> => (await artifactById(engine.store, artifact.id)) as ArtifactRow,
    jobs: async () => {
      const rows = await engine.store.selectFrom('jobs').select(['kind', 'status']).where('subject_id', '=', artifact.id).execute();
      return Object.fromEntries(rows.map(({ kind, status }) => [kind, status]));
    },
    generate: () => execute(engine, artifactJob, artifact.id),
  };
}
const clearRequest = 'runs by status';
const unclearRequest = 'chart of runs';

describe('the job of an artifact', () => {
  it('is done when there is a page', async () => {
    const { id, generate, artifact, jobs, logEntries } = await requestedArtifact(clearRequest);
    await generate();
    expect(await artifact()).toMatchObject({ status: 'completed', generation: null, question: null });
    expect(await jobs()).toEqual({ artifact: 'done' });
    expect(logEntries).toEqual([['info', 'artifact generated', { artifact: id, status: 'completed', waits: false }]]);
  });

  it('is parked while a question is pending, and due again when it is answered', async () => {
    const { engine, reader, id, generate, artifact, jobs, logEntries } = await requestedArtifact(unclearRequest);
    await generate();
    expect(await jobs()).toEqual({ artifact: 'parked' });
    expect(logEntries).toEqual([['info', 'artifact generated', { artifact: id, status: 'running', waits: true }]]);
    const { toolCallId, questions } = JSON.parse((await artifact()).question as string) as Question;
    await answerQuestion(engine, reader, id, { toolCallId, answers: { [questions[0]?.question as string]: 'status' } });
    expect(await jobs()).toEqual({ artifact: 'queued' });
    await generate();
    expect([await jobs(), (await artifact()).status]).toEqual([{ artifact: 'done' }, 'completed']);
  });

  it('is done, and the artifact has failed, if the service cannot generate it', async () => {
    const { engine, id, generate, artifact, jobs, logEntries } = await requestedArtifact(clearRequest);
    await engine.store.updateTable('artifacts').set({ generation: '{' }).execute();
    await generate();
    expect([await artifact(), await jobs()]).toMatchObject([{ status: 'failed', generation: null }, { artifact: 'done' }]);
    const [, message] = await engine.store.selectFrom('artifact_messages').select(['role', 'content', 'message']).orderBy('seq').execute();
    expect(message).toEqual({
      role: 'assistant',
      content: 'The generator failed; see the log of the service.',
      message: '{"type":"error"}',
    });
    expect(logEntries[0]).toEqual(['error', 'an artifact could not be generated', expect.objectContaining({ artifact: id })]);
  });

  it('is left to a retry if the host is in trouble', async () => {
    const { engine, id, artifact, jobs, logEntries } = await requestedArtifact(clearRequest);
    const claim = await claimedJob(engine, artifactJob.kind, id);
    const diskFullError = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC', syscall: 'write' });
    const now = engine.clock.now.bind(engine.clock);
    let readings = 0;
    engine.clock.now = () => {
      readings += 1;
      if (readings > 1) throw diskFullError;
      return now();
    };
    await expect(artifactJob.run(engine, claim, new AbortController().signal)).rejects.toBe(diskFullError);
    engine.clock.now = now;
    expect([(await artifact()).status, await jobs(), logEntries]).toEqual(['running', { artifact: 'running' }, []]);
  });

  it('changes and reports nothing if another worker has taken it', async () => {
    const { engine, id, artifact, jobs, logEntries } = await requestedArtifact(clearRequest);
    const claim = await claimedJob(engine, artifactJob.kind, id);
    await revokeJob(engine.store, artifactJob.kind, id);
    const before = await artifact();
    await artifactJob.run(engine, claim, new AbortController().signal);
    expect([await artifact(), await jobs(), logEntries]).toEqual([before, { artifact: 'done' }, []]);
  });

  it('is left to the next start if the service is shut down', async () => {
    const { engine, clock, id, artifact, jobs } = await requestedArtifact(clearRequest);
    const claim = await claimedJob(engine, artifactJob.kind, id);
    const before = await artifact();
    await artifactJob.run(engine, claim, AbortSignal.abort(new JobAborted('shutdown')));
    expect([await artifact(), await jobs()]).toEqual([before, { artifact: 'running' }]);
    expect(await engine.store.selectFrom('jobs').select('due_at').executeTakeFirstOrThrow()).toEqual({ due_at: clock.now() });
  });

  it('ends, like that of its refreshes, when the artifact is deleted', async () => {
    const { engine, reader, id, clock, jobs } = await requestedArtifact(clearRequest);
    await engine.store.transaction().execute((trx) => planRefresh(trx, id, 'daily', clock.now()));
    expect(await jobs()).toEqual({ artifact: 'queued', [refreshArtifactJob.kind]: 'queued' });
    await deleteArtifact(engine, reader, id);
    expect(await jobs()).toEqual({ artifact: 'done', [refreshArtifactJob.kind]: 'done' });
  });

  it('ends when the generation is stopped', async () => {
    const { engine, reader, id, jobs } = await requestedArtifact(clearRequest);
    await stopArtifact(engine, reader, id, undefined);
    expect(await jobs()).toEqual({ artifact: 'done' });
  });
});

describe('a message of a run', () => {
  const send = async ({ engine, reader, artifact }: Awaited<ReturnType<typeof requestedArtifact>>) => {
    const row = await artifact();
    return engine.store.transaction().execute((trx) => messageForRun(engine, trx, reader, row, clearRequest));
  };

  it('is refused while the artifact is generated', async () => {
    await expect(send(await requestedArtifact(clearRequest))).rejects.toMatchObject({ status: 409, error: 'artifact_generating' });
  });

  it('takes the place of a pending question', async () => {
    const requested = await requestedArtifact(unclearRequest);
    await requested.generate();
    await send(requested);
    expect(await requested.artifact()).toMatchObject({ status: 'pending', question: null });
  });
});
