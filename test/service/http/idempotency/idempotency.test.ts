import { Buffer } from 'node:buffer';
import { cp } from 'node:fs/promises';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { secretHash } from '../../../../src/service/secret-hash.ts';
import { insertCredential, insertToken } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { needsSqlite } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { type Answer, type Api, startApi } from '../../helpers/service.ts';
import { inStore } from '../../helpers/stored.ts';

const day = 24 * 60 * 60 * 1_000;

async function createAgent(api: Api, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  return api.send('POST', `/v2/teams/${api.service.teamId}/agents`, {
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k1', ...headers },
    body,
  });
}

const bodyWith = (name: string) => JSON.stringify({ name });
const isReplayed = (answer: Answer) => answer.headers['idempotency-replayed'] === 'true';
const codeOf = (answer: Answer) => (answer.body as { error?: string }).error;

async function countAgents(api: Api): Promise<number> {
  return (await api.ok('listAgents')).total;
}

describe('a key that is used again', () => {
  it('replays the same bytes without executing the request', async () => {
    const api = await startApi();
    const first = await createAgent(api, bodyWith('A'));
    const second = await createAgent(api, bodyWith('A'));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect([isReplayed(first), isReplayed(second)]).toEqual([false, true]);
    expect(second.headers['x-original-request-id']).toBe(first.headers['x-request-id']);
    expect(await countAgents(api)).toBe(1);
  });

  it('is rejected for any other request, even for other bytes of the same JSON', async () => {
    const api = await startApi();
    await createAgent(api, bodyWith('A'));
    const otherAnswers = [
      await createAgent(api, bodyWith('B')),
      await createAgent(api, '{"name": "A"}'),
      await createAgent(api, bodyWith('A'), { 'content-type': 'text/plain' }),
      await api.send('POST', `/v2/teams/${api.service.teamId}/agents?x=1`, {
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
        body: bodyWith('A'),
      }),
      await api.send('POST', '/v2/sandboxes', { headers: { 'idempotency-key': 'k1' } }),
      await api.send('DELETE', `/v2/agents/${api.service.teamId}`, { headers: { 'idempotency-key': 'k1' } }),
    ];
    for (const otherAnswer of otherAnswers) expect([otherAnswer.status, codeOf(otherAnswer)]).toEqual([400, 'idempotency_key_reused']);
    expect(isReplayed(await createAgent(api, bodyWith('A')))).toBe(true);
    expect(await countAgents(api)).toBe(1);
  });

  it('ignores parameters of the content type, percent-encoding, and the order of the query', async () => {
    const api = await startApi();
    const agent = await createAgent(api, bodyWith('A'));
    const path = `/v2/agents/${(agent.body as { agent: { id: string } }).agent.id}`;
    const patch = (url: string, type: string) =>
      api.send('PATCH', url, { headers: { 'content-type': type, 'idempotency-key': 'k2' }, body: '{}' });
    expect((await patch(`${path}?a=1&b=2`, 'application/json')).status).toBe(200);
    expect(isReplayed(await patch(`${path.replace('agents', '%61gents')}?b=2&a=1`, 'application/json; charset=utf-8'))).toBe(true);
  });

  it('executes one of many simultaneous requests', async () => {
    const api = await startApi();
    const answers = await Promise.all(Array.from({ length: 50 }, () => createAgent(api, bodyWith('A'))));
    const executions = answers.filter((answer) => answer.status === 201 && !isReplayed(answer));
    expect(executions).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 201) continue;
      expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([409, 'idempotency_in_progress', '1']);
    }
    expect(await countAgents(api)).toBe(1);
  });

  it('also replays refusals', async () => {
    const api = await startApi();
    for (const [key, body, status] of [
      ['a', '{}', 400],
      ['b', '{', 400],
      ['c', bodyWith('Taken'), 201],
      ['d', bodyWith('Taken'), 409],
    ] as const) {
      const first = await createAgent(api, body, { 'idempotency-key': key });
      const second = await createAgent(api, body, { 'idempotency-key': key });
      expect([first.status, second.status, isReplayed(second)]).toEqual([status, status, true]);
    }
    const deleteMissing = () => api.send('DELETE', `/v2/agents/${api.service.teamId}`, { headers: { 'idempotency-key': 'e' } });
    expect((await deleteMissing()).status).toBe(404);
    expect(isReplayed(await deleteMissing())).toBe(true);
  });

  it('expires 24 hours after the first request, and replays do not extend that', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    await createAgent(api, bodyWith('A'));
    clock.advance(day - 1_000);
    expect(isReplayed(await createAgent(api, bodyWith('A')))).toBe(true);
    clock.advance(2_000);
    const lateAnswer = await createAgent(api, bodyWith('A'));
    expect([lateAnswer.status, codeOf(lateAnswer), isReplayed(lateAnswer)]).toEqual([409, 'agent_name_taken', false]);
  });

  itNeeding(needsSqlite, 'expires even if no request arrives, together with the secret in its response', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const { body } = await api.send('POST', '/v2/local/tokens', {
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
      body: JSON.stringify({ name: 'one' }),
    });
    const { secret } = body as { secret: string };
    /** As a copy of the database has it; the service has locked its own. */
    const storedKeys = async () => {
      const copy = await temporaryDirectory();
      await cp(api.dataDirectory, copy, { recursive: true });
      const db = await openDatabase(copy);
      const rows = await db.selectFrom('idempotency_keys').select('body').execute();
      await db.destroy();
      return rows.map((row) => row.body).join();
    };
    clock.advance(day - 1_000);
    expect(await storedKeys()).toContain(secret);
    clock.advance(2_000);
    await within(10 * 60_000, clock, async () => (await storedKeys()) === '');
  });

  it('replays with a current date and current limits, and without headers of the connection', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const first = await createAgent(api, bodyWith('A'));
    clock.advance(5_000);
    const second = await createAgent(api, bodyWith('A'));
    expect(second.headers.date).not.toBe(first.headers.date);
    expect(Number(second.headers['ratelimit-remaining'])).toBe(Number(first.headers['ratelimit-remaining']) - 1);
    expect(second.headers['content-type']).toBe(first.headers['content-type']);
    expect(second.headers['set-cookie']).toBeUndefined();
  });
});

describe('the owner of a key', () => {
  it('is the credential, whatever token it presents', async () => {
    const dataDirectory = await temporaryDirectory();
    const created_at = new Date().toISOString();
    const [teamId, one, two] = ['10000000-0000-4000-8000-000000000001', 'one', 'two'];
    await inStore(dataDirectory, async (db) => {
      await insertTeam(db, { id: teamId, name: 'T', created_at });
      for (const id of [one, two])
        await insertCredential(db, { id, team_id: teamId, kind: 'api_key', name: id, created_at, revoked_at: null });
      for (const [token, credential_id] of [
        ['a', one],
        ['b', one],
        ['c', two],
      ] as const)
        await insertToken(db, { hash: secretHash(token), credential_id, created_at, expires_at: null });
    });
    const api = await startApi({ dataDirectory });
    const create = (token: string) =>
      api.send('POST', `/v2/teams/${teamId}/agents`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: bodyWith('A'),
      });
    expect([(await create('a')).status, isReplayed(await create('b'))]).toEqual([201, true]);
    const otherAnswer = await create('c');
    expect([otherAnswer.status, codeOf(otherAnswer), isReplayed(otherAnswer)]).toEqual([409, 'agent_name_taken', false]);
    // Another team's agents do not exist for it.
    const strangerAnswer = await api.send('GET', `/v2/teams/${teamId}/agents`);
    expect([strangerAnswer.status, codeOf(strangerAnswer)]).toEqual([404, 'team_not_found']);
  });
});

describe('what is never stored under a key', () => {
  it('failures that occur before keys are looked up', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, rateLimit: { limit: 1, windowSeconds: 10 } });
    expect((await createAgent(api, bodyWith('A'), { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await createAgent(api, bodyWith('A'), { origin: 'https://evil.test' })).status).toBe(403);
    expect((await createAgent(api, bodyWith('A'), { 'idempotency-key': 'two words' })).status).toBe(400);
    expect((await createAgent(api, bodyWith('A'))).status).toBe(429);
    clock.advance(10_000);
    const creation = await createAgent(api, bodyWith('A'));
    expect([creation.status, isReplayed(creation)]).toEqual([201, false]);
  });

  it('requests with a malformed key', async () => {
    const api = await startApi();
    for (const key of ['', 'é', 'x'.repeat(256)])
      expect((await createAgent(api, bodyWith('A'), { 'idempotency-key': key }).catch(() => ({ status: 400 }))).status).toBe(400);
    expect((await createAgent(api, bodyWith('A'), { 'idempotency-key': '"quoted"' })).status).toBe(201);
    expect((await createAgent(api, bodyWith('B'), { 'idempotency-key': 'x'.repeat(255) })).status).toBe(201);
    const duplicateAnswer = await rawPost(api, ['Idempotency-Key: a', 'idempotency-key: a']);
    expect(duplicateAnswer).toContain('400 Bad Request');
    expect(duplicateAnswer).toContain('invalid_idempotency_key');
    expect((await api.send('GET', '/v2/agents/x', { headers: { 'idempotency-key': 'two words' } })).status).toBe(404);
  });
});

it('a handler continues after its client has left, and a retry gets the response', async () => {
  const api = await startApi();
  const socket = connect(api.service.port, '127.0.0.1');
  await new Promise<void>((resolve) => socket.write(head(api, ['Idempotency-Key: k1'], bodyWith('A')), () => resolve()));
  socket.destroy();
  let answer = await createAgent(api, bodyWith('A'));
  while (codeOf(answer) === 'idempotency_in_progress') answer = await createAgent(api, bodyWith('A'));
  expect(answer.status).toBe(201);
  expect(await countAgents(api)).toBe(1);
});

const head = (api: Api, headers: string[], body: string) =>
  [
    `POST /v2/teams/${api.service.teamId}/agents HTTP/1.1`,
    `Host: 127.0.0.1:${api.service.port}`,
    `Authorization: Bearer ${api.service.token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n');

async function rawPost(api: Api, headers: string[]): Promise<string> {
  const socket = connect(api.service.port, '127.0.0.1');
  socket.end(head(api, headers, bodyWith('Raw')));
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
