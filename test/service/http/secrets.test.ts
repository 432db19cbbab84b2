/** Secrets of agents: values are stored encrypted, never returned, and reach only the processes of their agent. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { covers } from '../helpers/coverage.ts';
import type { Api } from '../helpers/service.ts';
import { storedRows } from '../helpers/stored.ts';

const start = covers('secrets');
const value = 'sk-live-0123456789abcdef';

const set = (api: Api, agent_id: string, name: string, text: unknown = value) =>
  api.call('setAgentSecret', { params: { agent_id }, body: { name, value: text } });

describe('secrets of an agent', () => {
  it('are stored, replaced, listed by name, and deleted', async () => {
    const api = await start();
    const agent_id = await api.agent();
    const params = { agent_id };
    const storedAnswer = await set(api, agent_id, 'API_KEY');
    expect(storedAnswer).toMatchObject({ status: 200, body: { secret: { name: 'API_KEY', updated_at: expect.any(String) } } });
    await set(api, agent_id, 'API_KEY', 'another');
    await set(api, agent_id, 'A_TOKEN');
    const list = await api.call('listAgentSecrets', { params });
    expect(list.body).toMatchObject({ secrets: [{ name: 'API_KEY' }, { name: 'A_TOKEN' }] });
    expect(storedAnswer.text + list.text).not.toContain(value);
    expect(await api.ok('deleteAgentSecret', { params: { agent_id, secret_name: 'API_KEY' } })).toEqual({ success: true });
    const repeatedAnswer = await api.call('deleteAgentSecret', { params: { agent_id, secret_name: 'API_KEY' } });
    expect(repeatedAnswer).toMatchObject({ status: 404, body: { error: 'secret_not_found' } });
    expect((await api.ok('listAgentSecrets', { params })).secrets.map(({ name }) => name)).toEqual(['A_TOKEN']);
  });

  it('are in no file of the data directory as text', async () => {
    const api = await start();
    await set(api, await api.agent(), 'API_KEY');
    for (const name of await readdir(api.dataDirectory, { recursive: true })) {
      const content = await readFile(path.join(api.dataDirectory, name)).catch(() => Buffer.alloc(0));
      expect(content.includes(value), name).toBe(false);
    }
  });

  it.each([
    ['2FA', value],
    ['A-B', value],
    ['A B', value],
    ['A\nB', value],
    ['__proto__', value],
    ['É', value],
    ['A'.repeat(201), value],
    ['A', ''],
    ['A', `${value}\0`],
    ['A', 'x'.repeat(65_537)],
    ['A', 17],
    ['A', { text: value }],
    ['A', null],
  ])('are rejected with an unusable name or value: %j', async (name, text) => {
    const api = await start();
    const agent_id = await api.agent();
    const answer = await set(api, agent_id, name, text);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(answer.text).not.toContain(value);
    expect((await api.ok('listAgentSecrets', { params: { agent_id } })).secrets).toEqual([]);
  });

  it('are limited in number', async () => {
    const api = await start();
    const agent_id = await api.agent();
    for (let index = 0; index < 100; index++) expect((await set(api, agent_id, `A${index}`)).status).toBe(200);
    expect(await set(api, agent_id, 'ONE_MORE')).toMatchObject({ status: 409, body: { error: 'too_many_secrets' } });
    expect((await set(api, agent_id, 'A7', 'new')).status).toBe(200);
  });

  it('are not found by another team', async () => {
    const api = await start();
    const agent_id = await api.agent();
    await set(api, agent_id, 'API_KEY');
    const stranger = await api.inNewTeam();
    expect((await set(stranger, agent_id, 'API_KEY')).status).toBe(404);
    expect((await stranger.call('listAgentSecrets', { params: { agent_id } })).status).toBe(404);
    expect((await stranger.call('deleteAgentSecret', { params: { agent_id, secret_name: 'API_KEY' } })).status).toBe(404);
    expect((await api.ok('listAgentSecrets', { params: { agent_id } })).secrets).toHaveLength(1);
  });

  it('can be changed only with full access', async () => {
    const api = await start();
    const agent_id = await api.agent();
    const limitedApi = await api.withToken({ scopes: ['runs:read', 'runs:write'] });
    expect(await set(limitedApi, agent_id, 'API_KEY')).toMatchObject({ status: 403 });
    expect((await limitedApi.call('deleteAgentSecret', { params: { agent_id, secret_name: 'API_KEY' } })).status).toBe(403);
    expect((await limitedApi.ok('listAgentSecrets', { params: { agent_id } })).secrets).toEqual([]);
  });

  it('are deleted with the agent', async () => {
    const api = await start();
    const agent_id = await api.agent();
    await set(api, agent_id, 'API_KEY');
    await api.ok('deleteAgent', { params: { agent_id } });
    expect((await api.call('listAgentSecrets', { params: { agent_id } })).status).toBe(404);
    await api.service.close();
    expect(await storedRows(api.dataDirectory, 'select name from agent_secrets')).toEqual([]);
  });
});
