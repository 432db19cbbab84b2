import { Buffer } from 'node:buffer';
import { cp } from 'node:fs/promises';
import { connect } from 'node:net';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { jsonAnswer } from '../../../../src/service/http/answer.ts';
import { IdempotencyLayer } from '../../../../src/service/http/idempotency/idempotency.ts';
import { secretHash } from '../../../../src/service/secret-hash.ts';
import { insertCredential, insertToken } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { openDatabase, type Store, storeOf } from '../../../../src/service/store/database/database.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/dialect.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { Gate } from '../../helpers/runtime.ts';
import { type Answer, type Api, started } from '../../helpers/service.ts';

const day = 24 * 60 * 60 * 1_000;

async function createAgent(api: Api, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  return api.send('POST', `/v2/teams/${api.service.teamId}/agents`, {
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k1', ...headers },
    body,
  });
}

const named = (name: string) => JSON.stringify({ name });
const replayed = (answer: Answer) => answer.headers['idempotency-replayed'] === 'true';
const codeOf = (answer: Answer) => (answer.body as { error?: string }).error;

async function countAgents(api: Api): Promise<number> {
  return (await api.ok('listAgents')).total;
}

describe('a key that is used again', () => {
  it('S1: replays the same bytes, without executing', async () => {
    const api = await started();
    const first = await createAgent(api, named('A'));
    const second = await createAgent(api, named('A'));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect([replayed(first), replayed(second)]).toEqual([false, true]);
    expect(second.headers['x-original-request-id']).toBe(first.headers['x-request-id']);
    expect(await countAgents(api)).toBe(1);
  });

  it('S2, S3: is refused for any other request, also for other bytes of the same JSON', async () => {
    const api = await started();
    await createAgent(api, named('A'));
    const others = [
      await createAgent(api, named('B')),
      await createAgent(api, '{"name": "A"}'),
      await createAgent(api, named('A'), { 'content-type': 'text/plain' }),
      await api.send('POST', `/v2/teams/${api.service.teamId}/agents?x=1`, {
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
        body: named('A'),
      }),
      await api.send('POST', '/v2/sandboxes', { headers: { 'idempotency-key': 'k1' } }),
      await api.send('DELETE', `/v2/agents/${api.service.teamId}`, { headers: { 'idempotency-key': 'k1' } }),
    ];
    for (const other of others) expect([other.status, codeOf(other)]).toEqual([400, 'idempotency_key_reused']);
    expect(replayed(await createAgent(api, named('A')))).toBe(true);
    expect(await countAgents(api)).toBe(1);
  });

  it('does not mind parameters of the content type, percent-encoding or the order of the query', async () => {
    const api = await started();
    const agent = await createAgent(api, named('A'));
    const path = `/v2/agents/${(agent.body as { agent: { id: string } }).agent.id}`;
    const patch = (at: string, type: string) =>
      api.send('PATCH', at, { headers: { 'content-type': type, 'idempotency-key': 'k2' }, body: '{}' });
    expect((await patch(`${path}?a=1&b=2`, 'application/json')).status).toBe(200);
    expect(replayed(await patch(`${path.replace('agents', '%61gents')}?b=2&a=1`, 'application/json; charset=utf-8'))).toBe(true);
  });

  it('S4: lets one of many at once execute', async () => {
    const api = await started();
    const answers = await Promise.all(Array.from({ length: 50 }, () => createAgent(api, named('A'))));
    const executed = answers.filter((answer) => answer.status === 201 && !replayed(answer));
    expect(executed).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 201) continue;
      expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([409, 'idempotency_in_progress', '1']);
    }
    expect(await countAgents(api)).toBe(1);
  });

  it('S8: replays refusals too', async () => {
    const api = await started();
    for (const [key, body, status] of [
      ['a', '{}', 400],
      ['b', '{', 400],
      ['c', named('Taken'), 201],
      ['d', named('Taken'), 409],
    ] as const) {
      const first = await createAgent(api, body, { 'idempotency-key': key });
      const second = await createAgent(api, body, { 'idempotency-key': key });
      expect([first.status, second.status, replayed(second)]).toEqual([status, status, true]);
    }
    const missing = () => api.send('DELETE', `/v2/agents/${api.service.teamId}`, { headers: { 'idempotency-key': 'e' } });
    expect((await missing()).status).toBe(404);
    expect(replayed(await missing())).toBe(true);
  });

  it('S14: is forgotten 24 hours after the first request; a replay prolongs nothing', async () => {
    const clock = new ManualClock();
    const api = await started({ clock });
    await createAgent(api, named('A'));
    clock.advance(day - 1_000);
    expect(replayed(await createAgent(api, named('A')))).toBe(true);
    clock.advance(2_000);
    const late = await createAgent(api, named('A'));
    expect([late.status, codeOf(late), replayed(late)]).toEqual([409, 'agent_name_taken', false]);
  });

  it('is forgotten after its time also when no request comes, with the secret in its answer', async () => {
    const clock = new ManualClock();
    const api = await started({ clock });
    const { body } = await api.send('POST', '/v2/local/tokens', {
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
      body: JSON.stringify({ name: 'one' }),
    });
    const { secret } = body as { secret: string };
    /** As a copy of the database has it; the service has locked its own. */
    const kept = async () => {
      const copy = await temporaryDirectory();
      await cp(api.dataDirectory, copy, { recursive: true });
      const db = await openDatabase(copy);
      const rows = await db.selectFrom('idempotency_keys').select('body').execute();
      await db.destroy();
      return rows.map((row) => row.body).join();
    };
    clock.advance(day - 1_000);
    expect(await kept()).toContain(secret);
    clock.advance(2_000);
    await within(10 * 60_000, clock, async () => (await kept()) === '');
  });

  it('S18: replays with fresh dates and limits, and nothing of the connection', async () => {
    const clock = new ManualClock();
    const api = await started({ clock });
    const first = await createAgent(api, named('A'));
    clock.advance(5_000);
    const second = await createAgent(api, named('A'));
    expect(second.headers.date).not.toBe(first.headers.date);
    expect(Number(second.headers['ratelimit-remaining'])).toBe(Number(first.headers['ratelimit-remaining']) - 1);
    expect(second.headers['content-type']).toBe(first.headers['content-type']);
    expect(second.headers['set-cookie']).toBeUndefined();
  });

  it('S13: is answered 409 after a crash in the middle, until the lease ends', async () => {
    const clock = new ManualClock();
    const api = await started({ clock });
    const dataDirectory = await temporaryDirectory();
    await createAgent(api, named('A'));
    await api.service.close();
    await cp(api.dataDirectory, dataDirectory, { recursive: true });
    const db = await openDatabase(dataDirectory);
    await db.updateTable('idempotency_keys').set({ status: null, body: null }).execute();
    await db.destroy();
    const second = await started({ clock, dataDirectory });
    const early = await createAgent(second, named('A'));
    expect([early.status, codeOf(early), early.headers['retry-after']]).toEqual([409, 'idempotency_in_progress', '1']);
    clock.advance(61_000);
    // It executes, and finds what the crashed request had done.
    expect(codeOf(await createAgent(second, named('A')))).toBe('agent_name_taken');
  });
});

describe('who has a key', () => {
  it('S6, S7: is the credential, whatever token it presents', async () => {
    const dataDirectory = await temporaryDirectory();
    const db = await openDatabase(dataDirectory);
    const created_at = new Date().toISOString();
    const [teamId, one, two] = ['10000000-0000-4000-8000-000000000001', 'one', 'two'];
    await insertTeam(db, { id: teamId, name: 'T', created_at });
    for (const id of [one, two])
      await insertCredential(db, { id, team_id: teamId, kind: 'api_key', name: id, created_at, revoked_at: null });
    for (const [token, credential_id] of [
      ['a', one],
      ['b', one],
      ['c', two],
    ] as const)
      await insertToken(db, { hash: secretHash(token), credential_id, created_at, expires_at: null });
    await db.destroy();
    const api = await started({ dataDirectory });
    const create = (token: string) =>
      api.send('POST', `/v2/teams/${teamId}/agents`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: named('A'),
      });
    expect([(await create('a')).status, replayed(await create('b'))]).toEqual([201, true]);
    const other = await create('c');
    expect([other.status, codeOf(other), replayed(other)]).toEqual([409, 'agent_name_taken', false]);
    // Another team's agents do not exist for it.
    const stranger = await api.send('GET', `/v2/teams/${teamId}/agents`);
    expect([stranger.status, codeOf(stranger)]).toEqual([404, 'team_not_found']);
  });
});

describe('what is never kept', () => {
  it('S10: failures before the keys are looked at', async () => {
    const clock = new ManualClock();
    const api = await started({ clock, rateLimit: { limit: 1, windowSeconds: 10 } });
    expect((await createAgent(api, named('A'), { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await createAgent(api, named('A'), { origin: 'https://evil.test' })).status).toBe(403);
    expect((await createAgent(api, named('A'), { 'idempotency-key': 'two words' })).status).toBe(400);
    expect((await createAgent(api, named('A'))).status).toBe(429);
    clock.advance(10_000);
    const created = await createAgent(api, named('A'));
    expect([created.status, replayed(created)]).toEqual([201, false]);
  });

  it('checks the form of a key', async () => {
    const api = await started();
    for (const key of ['', 'é', 'x'.repeat(256)])
      expect((await createAgent(api, named('A'), { 'idempotency-key': key }).catch(() => ({ status: 400 }))).status).toBe(400);
    expect((await createAgent(api, named('A'), { 'idempotency-key': '"quoted"' })).status).toBe(201);
    expect((await createAgent(api, named('B'), { 'idempotency-key': 'x'.repeat(255) })).status).toBe(201);
    const twice = await rawPost(api, ['Idempotency-Key: a', 'idempotency-key: a']);
    expect(twice).toContain('400 Bad Request');
    expect(twice).toContain('invalid_idempotency_key');
    expect((await api.send('GET', '/v2/agents/x', { headers: { 'idempotency-key': 'two words' } })).status).toBe(404);
  });
});

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

async function layer(): Promise<{
  idempotency: IdempotencyLayer;
  request: { credentialId: string; key: string; fingerprint: string; requestId: string; mark: number };
  db: Store;
  commits: Commits;
  logged: unknown[];
  clock: ManualClock;
}> {
  const directory = await temporaryDirectory();
  await (await openDatabase(directory)).destroy();
  const commits: Commits = { failure: undefined, count: 0 };
  const db = storeOf(new LibsqlDialect(failingCommits(new Libsql(`${directory}/aops.db`), commits)));
  afterTest(() => db.destroy());
  await insertTeam(db, { id: 't', name: 'T', created_at: '' });
  await insertCredential(db, { id: 'c', team_id: 't', kind: 'api_key', name: 'c', created_at: '', revoked_at: null });
  const clock = new ManualClock();
  const logged: unknown[] = [];
  const idempotency = new IdempotencyLayer({ store: db, clock, owner: 'me', log: (...entry) => void logged.push(entry) });
  return {
    idempotency,
    clock,
    db,
    commits,
    logged,
    request: { credentialId: 'c', key: 'k', fingerprint: 'f', requestId: 'r', mark: db.durability.mark() },
  };
}

interface Commits {
  count: number;
  failure: Error | undefined;
  failsOnce?: boolean;
}

/** A database whose commits fail on request, as on a full disk. */
function failingCommits(real: Libsql.Database, commits: Commits): Libsql.Database {
  const prepare = (text: string) => {
    const statement = real.prepare(text);
    const run = statement.run.bind(statement);
    if (text === 'commit')
      statement.run = (...values: never[]) => {
        const { failure } = commits;
        if (commits.failsOnce) commits.failure = undefined;
        if (failure !== undefined) throw failure;
        commits.count += 1;
        return run(...values);
      };
    return statement;
  };
  return new Proxy(real, {
    get(target, name) {
      if (name === 'prepare') return prepare;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('the layer', () => {
  it('S9: forgets a 500, so that a retry executes', async () => {
    const { idempotency, request } = await layer();
    expect((await idempotency.answer(request, async () => jsonAnswer(500, {}))).status).toBe(500);
    expect((await idempotency.answer(request, async () => jsonAnswer(201, {}))).status).toBe(201);
    expect((await idempotency.answer(request, async () => jsonAnswer(202, {}))).headers['Idempotency-Replayed']).toBe('true');
  });

  it('S4: executes one of fifty at once, however slow it is; the others are told to wait, and then get its answer', async () => {
    const { idempotency, request } = await layer();
    const goOn = new Gate();
    let executed = 0;
    const attempt = () =>
      idempotency
        .answer(request, async () => {
          executed += 1;
          await goOn.opened;
          return jsonAnswer(201, { executed });
        })
        .catch((error: { status: number; error: string; headers: Record<string, string> }) => error);
    const answers = Array.from({ length: 50 }, attempt);
    const refused = await Promise.all(answers.slice(1));
    for (const answer of refused)
      expect(answer).toMatchObject({ status: 409, error: 'idempotency_in_progress', headers: { 'Retry-After': '1' } });
    goOn.open();
    const first = await answers[0];
    expect(first).toMatchObject({ status: 201, body: '{"executed":1}' });
    for (const late of await Promise.all([attempt(), attempt()].map((one) => one.catch((error: unknown) => error))))
      expect([201, 409]).toContain((late as { status: number }).status);
    expect(await attempt()).toMatchObject({ status: 201, body: '{"executed":1}', headers: { 'Idempotency-Replayed': 'true' } });
    expect(executed).toBe(1);
  });

  it('keeps no answer to what never reached the disk, and a retry executes', async () => {
    const { idempotency, request, db, commits } = await layer();
    const goOn = new Gate();
    const settings = db.early.insertInto('settings');
    const lost = idempotency.answer(request, async () => {
      // The claim is on the disk; what is done is not.
      await db.durability.settled(request.mark);
      commits.failure = new Error('no space left');
      await settings.values({ name: 'done', value: '1' }).execute();
      await goOn.opened;
      return jsonAnswer(201, {});
    });
    while (!db.durability.hasFailed(request.mark)) await nextTurn();
    commits.failure = undefined;
    goOn.open();
    await expect(lost).rejects.toThrow('no space left');
    const again = { ...request, mark: db.durability.mark() };
    const answer = await idempotency.answer(again, async () => {
      await settings.values({ name: 'done', value: '2' }).execute();
      return jsonAnswer(201, {});
    });
    expect([answer.status, answer.headers['Idempotency-Replayed']]).toEqual([201, undefined]);
    expect((await db.selectFrom('settings').select('value').where('name', '=', 'done').execute())[0]?.value).toBe('2');
    expect((await idempotency.answer(again, async () => jsonAnswer(500, {}))).headers['Idempotency-Replayed']).toBe('true');
  });

  it('keeps no answer to what is lost while the answer waits to be kept', async () => {
    const { idempotency, request, db, commits } = await layer();
    const goOn = new Gate();
    let inTheWay: Promise<unknown> = Promise.resolve();
    const lost = idempotency.answer(request, async () => {
      await db.durability.settled(request.mark);
      await db.early.insertInto('settings').values({ name: 'done', value: '1' }).execute();
      // What was done waits for this transaction to reach the disk, and so does the answer to be kept.
      inTheWay = db.transaction().execute(() => goOn.opened);
      await nextTurn();
      Object.assign(commits, { failure: new Error('no space left'), failsOnce: true });
      return jsonAnswer(201, {});
    });
    const rejected = expect(lost).rejects.toThrow('no space left');
    while (commits.failure === undefined) await nextTurn();
    await nextTurn();
    goOn.open();
    await expect(inTheWay).rejects.toThrow('no space left');
    await rejected;
    const again = { ...request, mark: db.durability.mark() };
    expect((await idempotency.answer(again, async () => jsonAnswer(202, {}))).status).toBe(202);
  });

  it('keeps what was done, the key and the answer in one commit', async () => {
    const { idempotency, request, db, commits } = await layer();
    await idempotency.answer({ ...request, key: 'first' }, async () => jsonAnswer(201, {}));
    const before = commits.count;
    await idempotency.answer(request, async () => {
      await db.early.insertInto('settings').values({ name: 'done', value: '1' }).execute();
      return jsonAnswer(201, {});
    });
    expect(commits.count).toBe(before + 1);
  });

  it('S13: has the key in the database with the first of what is done under it', async () => {
    const { idempotency, request, db } = await layer();
    const goOn = new Gate();
    const rows = () => db.selectFrom('idempotency_keys').select(['key', 'status', 'body']).orderBy('key').execute();
    const first = idempotency.answer(request, async () => {
      await db.early.insertInto('settings').values({ name: 'done', value: '1' }).execute();
      await goOn.opened;
      return jsonAnswer(201, { done: true });
    });
    while ((await db.selectFrom('settings').select('name').where('name', '=', 'done').execute()).length === 0) await nextTurn();
    expect(await rows()).toEqual([{ key: 'k', status: null, body: null }]);
    goOn.open();
    await first;
    expect(await rows()).toEqual([{ key: 'k', status: 201, body: '{"done":true}' }]);
  });

  it('keeps the answers of others when one cannot be kept, and says so', async () => {
    const { idempotency, request, db, logged } = await layer();
    const others = Array.from({ length: 50 }, (_, index) => ({ ...request, key: `k${index}` }));
    const stranger = { ...request, credentialId: 'gone', requestId: 'of nobody' };
    const answers = await Promise.all([stranger, ...others].map((one) => idempotency.answer(one, async () => jsonAnswer(201, {}))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const { kept } = await db
      .selectFrom('idempotency_keys')
      .select((select) => select.fn.countAll<number>().as('kept'))
      .where('status', '=', 201)
      .executeTakeFirstOrThrow();
    expect(kept).toBe(others.length);
    expect(logged).toEqual([['error', 'an idempotency key could not be kept', expect.objectContaining({ request: 'of nobody' })]]);
  });

  it('S11: executes once, however slow the handler is', async () => {
    const { idempotency, request, clock } = await layer();
    const goOn = new Gate();
    const first = idempotency.answer(request, async () => {
      await goOn.opened;
      return jsonAnswer(201, {});
    });
    clock.advance(2 * 60 * 60 * 1_000);
    await expect(idempotency.answer(request, async () => jsonAnswer(201, {}))).rejects.toMatchObject({ status: 409 });
    goOn.open();
    expect((await first).status).toBe(201);
    expect((await idempotency.answer(request, async () => jsonAnswer(201, {}))).headers['Idempotency-Replayed']).toBe('true');
  });
});

it('S12: a handler goes on when its client has left; a retry gets its answer', async () => {
  const api = await started();
  const socket = connect(api.service.port, '127.0.0.1');
  await new Promise<void>((resolve) => socket.write(head(api, ['Idempotency-Key: k1'], named('A')), () => resolve()));
  socket.destroy();
  let answer = await createAgent(api, named('A'));
  while (codeOf(answer) === 'idempotency_in_progress') answer = await createAgent(api, named('A'));
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
  socket.end(head(api, headers, named('Raw')));
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
