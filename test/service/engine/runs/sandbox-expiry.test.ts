/** Sandboxes that were created to stage files: they are removed after a day, unless a run uses them. */
import { expect, it } from 'vitest';
import type { StartableEngine } from '../../../../src/service/engine/create-engine.ts';
import { expireSandboxJob, stageSandbox } from '../../../../src/service/engine/runs/sandbox-expiry.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { Gate } from '../../helpers/runtime.ts';
import { type Api, startApi } from '../../helpers/service.ts';
import { uploadForm } from '../../helpers/uploads.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

async function stagedSandbox(api: Api): Promise<string> {
  const { sandbox_id } = await api.ok('createSandbox');
  const body = uploadForm('input.txt', 'mine');
  expect((await api.call('uploadSandboxFile', { params: { sandbox_id }, body })).status).toBeLessThan(300);
  return sandbox_id;
}

const isThere = async (api: Api, sandbox_id: string) => (await api.call('listSandboxFiles', { params: { sandbox_id } })).status === 200;

it('a staged sandbox is removed after a day, but not if a run has used it', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const usedSandbox = await stagedSandbox(api);
  // Due later, and thus checked later: once it is gone, the other one has been checked.
  clock.advance(1);
  const unusedSandbox = await stagedSandbox(api);
  const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id: usedSandbox } });
  await api.until(run.id, 'completed');
  clock.advance(day - 2 * minute);
  expect(await isThere(api, unusedSandbox)).toBe(true);
  clock.advance(2 * minute);
  await within(10_000, clock, async () => !(await isThere(api, unusedSandbox)));
  const { data } = await api.ok('listRunSandboxFiles', { params: { run_id: run.id } });
  expect(data).toMatchObject({ sandboxStatus: 'paused', entries: [{ name: 'input.txt' }] });
});

it('a file that arrives while the sandbox is being removed is refused, and nothing of it remains', async () => {
  const clock = new ManualClock();
  const dataDirectory = await temporaryDirectory();
  await putEmptyDatabase(dataDirectory);
  const engine = await idleEngine(clock, { dataDirectory });
  afterTest(() => closeEngine(engine));
  await insertTeam(engine.store, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
  const { id } = await stageSandbox(engine, 't');
  const upload = (...chunks: AsyncIterable<Uint8Array>[]) =>
    engine.workspaces.write(
      engine.store,
      id,
      'late.txt',
      (async function* () {
        for (const chunk of chunks) yield* chunk;
      })(),
    );
  const bytes = async function* () {
    yield Buffer.from('late');
  };
  const isReceived = new Gate();
  const isMarked = new Gate();
  const isUploaded = new Gate();
  const isRemoved = new Gate();
  const afterwards = async function* () {
    isReceived.open();
    await isRemoved.opened;
    yield Buffer.from('later');
  };
  const early = upload(bytes(), afterwards());
  early.catch(() => undefined);
  await isReceived.opened;
  clock.advance(day);
  const sandboxes = {
    async remove(removedId: string) {
      isMarked.open();
      await isUploaded.opened;
      await engine.sandboxes.remove(removedId);
    },
  };
  const expiry = execute({ ...engine, sandboxes } as StartableEngine, expireSandboxJob, id);
  await isMarked.opened;
  const refusal = { status: 404, error: 'sandbox_not_found' };
  await expect(upload(bytes())).rejects.toMatchObject(refusal);
  isUploaded.open();
  await expiry;
  isRemoved.open();
  await expect(early).rejects.toMatchObject(refusal);
  expect(await engine.sandboxes.ids()).toEqual([]);
});
