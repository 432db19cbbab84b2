/**
 * What is written together is there together, whatever happens in between: a run is claimed and running, and its last step is recorded
 * with its end and its evaluation. Each test kills the service, or fills its disk, at such a boundary.
 */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsSqlite, usesPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { crashImage } from '../../helpers/crash.ts';
import { nextTurn, serviceCommits } from '../../helpers/disk.ts';
import { Gate } from '../../helpers/runtime.ts';
import { scripted } from '../../helpers/scripted.ts';
import { type Api, startApi } from '../../helpers/service.ts';
import { inStore } from '../../helpers/stored.ts';
import { deliveries, receiver } from '../../helpers/webhooks.ts';

/** A write that is part of a change: a statement of SQLite, and what it does to rows of a table, as a condition of a trigger of Postgres. */
interface Write {
  statement: RegExp;
  change: `insert on ${string}` | `update on ${string}`;
  when?: string;
}

/** A disk that gets full just before a write. Call it before the service is started. */
function fillableDisk() {
  const commits = serviceCommits();
  return {
    async fill({ dataDirectory }: Api, { statement, change, when = 'true' }: Write): Promise<void> {
      if (usesPostgres)
        await inStore(dataDirectory, async (store) => {
          await sql`create function fail() returns trigger language plpgsql
            as $$ begin raise exception 'could not extend file: no space left on device' using errcode = '53100'; end $$`.execute(store);
          await sql.raw(`create trigger fails before ${change} for each row when (${when}) execute function fail()`).execute(store);
        });
      else
        Object.assign(commits, {
          failing: statement,
          failure: Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' }),
        });
    },
    async free({ dataDirectory }: Api): Promise<void> {
      commits.failure = undefined;
      if (usesPostgres) await inStore(dataDirectory, (store) => sql`drop function fail() cascade`.execute(store));
    },
  };
}

/** What callers see of the only run. */
async function shown(api: Api, runId: string) {
  const { run } = await api.ok('getRun', { params: { run_id: runId } });
  const { data } = await api.ok('listRuns');
  const texts = await api.texts(runId);
  return { status: run.status, isEvaluated: data[0]?.eval_summaries?.status === 'ready', texts };
}

describeNeeding(needsSqlite, 'a service that is killed', () => {
  it('has recorded the last step of a run with its end and its evaluation, or none of them', async () => {
    const { api, agentId } = await scripted('  - say: One\n  - say: Two\n');
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    const images: string[] = [];
    const isEnded = async () => (await api.ok('getRun', { params: { run_id: run.id } })).run.status === 'completed';
    for (let isLast = false; !isLast; await setImmediate()) {
      isLast = await isEnded();
      images.push(await crashImage(api));
    }
    for (const dataDirectory of images) {
      const jobs: Gate = new Gate();
      // The image is looked at before anything continues.
      const image = await startApi({
        dataDirectory,
        runtimes: [{ ...scriptRuntime, advance: async (host) => jobs.opened.then(() => scriptRuntime.advance(host)) }],
      });
      const { status, isEvaluated, texts } = await shown(image, run.id);
      const isCompleted = status === 'completed';
      expect([isEvaluated, texts.includes('Two')]).toEqual([isCompleted, isCompleted]);
      jobs.open();
      await image.until(run.id, 'completed');
      expect(await shown(image, run.id)).toEqual({ status: 'completed', isEvaluated: true, texts: ['One', 'Two'] });
      expect((await image.ok('listRuns', { query: { status: 'completed' } })).total).toBe(1);
      expect((await image.ok('listRuns', { query: { status: 'running' } })).total).toBe(0);
      await image.service.close();
    }
  });

  it('after it has claimed a run continues it, and reports its start once', async () => {
    const hook = await receiver();
    const entered = new Gate();
    const gate = new Gate();
    afterTest(async () => gate.open());
    const api = await startApi({
      behaviours: {
        work: async () => {
          entered.open();
          await gate.opened;
          return { status: 'completed' };
        },
      },
    });
    await api.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.started', 'run.completed'] } });
    const run = await api.run('work');
    await entered.opened;
    const restarted = await startApi({ dataDirectory: await crashImage(api), behaviours: { work: async () => ({ status: 'completed' }) } });
    const { started_at } = await restarted.until(run.id, 'completed');
    expect(started_at).not.toBeNull();
    const kinds = async () => (await deliveries(restarted)).map(({ event }) => event).sort();
    expect(await kinds()).toEqual(['run.completed', 'run.started']);
  });
});

describe('a disk that is full', () => {
  it('while a run is claimed leaves the run pending and reports nothing', async () => {
    const disk = fillableDisk();
    const clock = new ManualClock();
    const hook = await receiver();
    const executed: string[] = [];
    const api = await startApi({
      clock,
      behaviours: {
        work: async (host) => {
          executed.push(host.run.id);
          return { status: 'completed' };
        },
      },
    });
    await api.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.started'] } });
    const agentId = await api.agent('work');
    // The first statement that counts a run with a new status is part of the claim.
    const claim = {
      statement: /^insert into "run_totals".*\), \(/,
      change: 'insert on run_totals',
      when: `new.status = 'running'`,
    } as const;
    await disk.fill(api, claim);
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect((await api.ok('getRun', { params: { run_id: run.id } })).run).toMatchObject({ status: 'pending', started_at: null });
    expect([executed, await deliveries(api)]).toEqual([[], []]);
    await disk.free(api);
    await within(20_000, clock, async () => (await api.ok('getRun', { params: { run_id: run.id } })).run.status === 'completed');
    expect([executed, (await deliveries(api)).length]).toEqual([[run.id], 1]);
  });

  it.each<[string, Write]>([
    [
      'the end of its job',
      {
        statement: /^update "jobs" set "status" = \?, "owner" = \? where/,
        change: 'update on jobs',
        when: `new.kind = 'run' and new.status = 'done'`,
      },
    ],
    ['its evaluation', { statement: /^insert into "evaluations"/, change: 'insert on evaluations' }],
  ])('while the end of a run is recorded, at %s, leaves nothing of the last step, which is repeated', async (_, write) => {
    const disk = fillableDisk();
    const clock = new ManualClock();
    const failures: string[] = [];
    const { api, agentId } = await scripted('  - say: One\n  - say: Two\n', { clock, log: ({ message }) => void failures.push(message) });
    await disk.fill(api, write);
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    await eventually('the job has failed', () => failures.includes('a job failed and will be retried'));
    expect(await shown(api, run.id)).toEqual({ status: 'running', isEvaluated: false, texts: ['One'] });
    await disk.free(api);
    await within(60_000, clock, async () => (await api.ok('getRun', { params: { run_id: run.id } })).run.status === 'completed');
    expect(await shown(api, run.id)).toEqual({ status: 'completed', isEvaluated: true, texts: ['One', 'Two'] });
  });
});
