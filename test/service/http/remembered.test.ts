/** Answers that are given again: the same as those that are made anew, at every moment. */
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../helpers/clock.ts';
import { Gate } from '../helpers/runtime.ts';
import { type Api, started } from '../helpers/service.ts';

let unknown = 0;

/** The answer to a URL, which may be a remembered one, after making sure that it is what a new one is. */
async function same(api: Api, path: string) {
  // A parameter that means nothing makes another URL of it.
  const anew = `${path}${path.includes('?') ? '&' : '?'}new=${unknown++}`;
  const [given, made] = [await api.send('GET', path), await api.send('GET', anew)];
  expect(given.text).toBe(made.text);
  expect([given.status, given.headers['content-type']]).toEqual([made.status, made.headers['content-type']]);
  return given.body as never;
}

describe('what is asked over and over', () => {
  it('is told as it is after every change of a run', async () => {
    const gate = new Gate();
    const api = await started({
      behaviours: {
        ask: async (host) => {
          if (host.answer('ask')) return { status: 'completed' };
          await gate.opened;
          await host.emit([{ kind: 'text', id: 'hello', text: 'Hello' }]);
          return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
        },
      },
    });
    const agentId = await api.agent('ask');
    const list = `/v2/teams/${api.service.teamId}/runs`;
    expect(await same(api, list)).toMatchObject({ total: 0 });
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    const [one, messages] = [`/v2/runs/${run.id}`, `/v2/runs/${run.id}/messages`];
    const all = async () => [
      await same(api, one),
      await same(api, list),
      await same(api, `${list}?status=waiting`),
      await same(api, messages),
    ];
    await api.until(run.id, 'running');
    expect(await all()).toMatchObject([{ run: { status: 'running' } }, { total: 1 }, { total: 0 }, { total: 0 }]);
    gate.open();
    await api.until(run.id, 'waiting');
    expect(await all()).toMatchObject([
      { pending_human_request: { title: 'Really?' } },
      { data: [{ status: 'waiting', pending_human_request: { title: 'Really?' } }] },
      { total: 1 },
      { messages: [{ text_content: 'Hello' }] },
    ]);
    await api.ok('updateAgent', { params: { agent_id: agentId }, body: { name: 'Renamed' } });
    expect(await same(api, list)).toMatchObject({ data: [{ agent_name: 'Renamed' }] });
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Yes' } });
    await api.until(run.id, 'completed');
    expect(await all()).toMatchObject([{ run: { status: 'completed' } }, { total: 1 }, { data: [], total: 0 }, { total: 2 }]);
  });

  it('is told to those who may know it alone', async () => {
    const api = await started();
    const agentId = await api.agent();
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    await api.until(run.id, 'completed');
    const path = `/v2/runs/${run.id}`;
    expect((await api.send('GET', path)).status).toBe(200);
    expect((await (await api.inNewTeam()).send('GET', path)).status).toBe(404);
    expect((await (await api.withToken({ scopes: ['webhooks:manage'] })).send('GET', path)).status).toBe(403);
    expect((await api.send('GET', path, { anonymous: true })).status).toBe(401);
    expect((await api.send('POST', path)).status).toBe(405);
    expect(await api.send('HEAD', path)).toMatchObject({ status: 200, text: '' });
  });
});

describe('a token that was presented before', () => {
  it('is refused as soon as it is revoked, or its time is over', async () => {
    const clock = new ManualClock();
    const api = await started({ clock });
    const lasting = await api.ok('createLocalToken', { body: { name: 'lasting' } });
    const short = await api.withToken({ expires_in_seconds: 60 });
    const status = async (token: string) => (await api.as(token).send('GET', '/v2/local/credential')).status;
    expect([await status(lasting.secret), await status(short.service.token)]).toEqual([200, 200]);
    clock.advance(59_999);
    expect(await status(short.service.token)).toBe(200);
    clock.advance(1);
    expect(await status(short.service.token)).toBe(401);
    expect(await status(lasting.secret)).toBe(200);
    await api.ok('revokeLocalToken', { params: { token_id: lasting.token.id } });
    expect(await status(lasting.secret)).toBe(401);
  });
});
