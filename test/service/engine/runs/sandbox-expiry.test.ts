/** Sandboxes that were created to stage files: they are removed after a day, unless a run uses them. */
import { expect, it } from 'vitest';
import { ManualClock, within } from '../../helpers/clock.ts';
import { type Api, startApi } from '../../helpers/service.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

async function stageSandbox(api: Api): Promise<string> {
  const { sandbox_id } = await api.ok('createSandbox');
  const form = new FormData();
  form.append('path', 'input.txt');
  form.append('file', new File(['mine'], 'input.txt'));
  expect((await api.call('uploadSandboxFile', { params: { sandbox_id }, body: form })).status).toBeLessThan(300);
  return sandbox_id;
}

const isThere = async (api: Api, sandbox_id: string) => (await api.call('listSandboxFiles', { params: { sandbox_id } })).status === 200;

it('a staged sandbox is removed after a day, but not if a run has used it', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const usedSandbox = await stageSandbox(api);
  // Due later, and thus checked later: once it is gone, the other one has been checked.
  clock.advance(1);
  const unusedSandbox = await stageSandbox(api);
  const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id: usedSandbox } });
  await api.until(run.id, 'completed');
  clock.advance(day - 2 * minute);
  expect(await isThere(api, unusedSandbox)).toBe(true);
  clock.advance(2 * minute);
  await within(10_000, clock, async () => !(await isThere(api, unusedSandbox)));
  const { data } = await api.ok('listRunSandboxFiles', { params: { run_id: run.id } });
  expect(data).toMatchObject({ sandboxStatus: 'paused', entries: [{ name: 'input.txt' }] });
});
