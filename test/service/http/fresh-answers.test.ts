/** Reads show every change that was acknowledged before them, and only to callers that may see it. */
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../helpers/clock.ts';
import { Gate } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';

describe('a run that is read again and again', () => {
  it('shows every change immediately', async () => {
    const gate = new Gate();
    const api = await startApi({
      behaviours: {
        ask: async (host) => {
          if (host.answer('ask')) return { status: 'completed' };
          await gate.opened;
          await host.emit([{ kind: 'text', id: 'hello', text: 'Hello' }]);
          return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
        },
      },
    });
    const get = async (path: string) => (await api.send('GET', path)).body;
    const agentId = await api.agent('ask');
    const list = `/v2/teams/${api.service.teamId}/runs`;
    expect(await get(list)).toMatchObject({ total: 0 });
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    const [runPath, messages] = [`/v2/runs/${run.id}`, `/v2/runs/${run.id}/messages`];
    const readAll = async () => [await get(runPath), await get(list), await get(`${list}?status=waiting`), await get(messages)];
    await api.until(run.id, 'running');
    expect(await readAll()).toMatchObject([{ run: { status: 'running' } }, { total: 1 }, { total: 0 }, { total: 0 }]);
    gate.open();
    await api.until(run.id, 'waiting');
    expect(await readAll()).toMatchObject([
      { pending_human_request: { title: 'Really?' } },
      { data: [{ status: 'waiting', pending_human_request: { title: 'Really?' } }] },
      { total: 1 },
      { messages: [{ text_content: 'Hello' }] },
    ]);
    await api.ok('updateAgent', { params: { agent_id: agentId }, body: { name: 'Renamed' } });
    expect(await get(list)).toMatchObject({ data: [{ agent_name: 'Renamed' }] });
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Yes' } });
    await api.until(run.id, 'completed');
    expect(await readAll()).toMatchObject([{ run: { status: 'completed' } }, { total: 1 }, { data: [], total: 0 }, { total: 2 }]);
  });

  it('is shown only to callers that may see it', async () => {
    const api = await startApi();
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

describe('a token that was used before', () => {
  it('is refused as soon as it is revoked or has expired', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const lastingToken = await api.ok('createLocalToken', { body: { name: 'lasting' } });
    const short = await api.withToken({ expires_in_seconds: 60 });
    const status = async (token: string) => (await api.as(token).send('GET', '/v2/local/credential')).status;
    expect([await status(lastingToken.secret), await status(short.service.token)]).toEqual([200, 200]);
    clock.advance(59_999);
    expect(await status(short.service.token)).toBe(200);
    clock.advance(1);
    expect(await status(short.service.token)).toBe(401);
    expect(await status(lastingToken.secret)).toBe(200);
    await api.ok('revokeLocalToken', { params: { token_id: lastingToken.token.id } });
    expect(await status(lastingToken.secret)).toBe(401);
  });
});
