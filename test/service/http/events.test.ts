/** Streams of events: each event comes once and in order, and streams are resumed exactly, authorized, bounded, and ended in time. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { LogEntry } from '../../../src/service/log.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { runPromptly } from '../../support/promptly.ts';
import { itNeeding } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { crashImage } from '../helpers/crash.ts';
import { EventReader, inShort } from '../helpers/events.ts';
import { auth, dial } from '../helpers/raw.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import type { Api } from '../helpers/service.ts';
import { alterStored } from '../helpers/stored.ts';

const service = covers('events');

/** Sends a message, asks a question, and sends the answer as a message. */
const askBehaviour: Behaviour = async (host) => {
  const answer = host.answer('ask');
  if (answer === undefined) {
    await host.emit([{ kind: 'text', id: 'before', text: 'Before' }]);
    return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
  }
  await host.emit([{ kind: 'text', id: 'after', text: 'After' }]);
  return { status: 'completed' };
};

const completeEvents = ['Go', 'Before', '> waiting', '? Really?', 'Approved: Really?', 'After', '> completed', 'finished completed'];

const open = (api: Api, runId: string, headers?: Record<string, string>) => EventReader.open(api, `/v2/runs/${runId}/events`, headers);
const openTeam = (api: Api, headers?: Record<string, string>, query = '') =>
  EventReader.open(api, `/v2/teams/${api.service.teamId}/events${query}`, headers);
const resuming = (id: string | undefined) => ({ 'last-event-id': id ?? '' });

async function approve(api: Api, runId: string): Promise<void> {
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: runId } });
  const params = { run_id: runId, request_id: request?.id ?? '' };
  await api.ok('respondToHumanRequest', { params, body: { approved: true } });
}

/** Events that a reader might miss, or see a moment earlier or later. */
const passing = new Set(['> not_started', '> pending', '> starting', '> running', 'answered: Really?']);
const lastingOf = (events: readonly string[]) => events.filter((event) => !passing.has(event));

describe('the events of a run', () => {
  it('arrive as they happen: messages, statuses, requests, and the end', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const run = await api.run('asks', 'Go');
    const reader = await open(api, run.id);
    expect(reader.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    const before = await reader.until('human_request.pending');
    expect(reader.retry).toBe(1_000);
    await approve(api, run.id);
    const events = [...before, ...(await reader.rest())];
    expect(lastingOf(events.map(inShort))).toEqual(completeEvents);
    expect(events.map(inShort)).toContain('answered: Really?');
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const { messages } = await api.ok('listRunMessages', { params: { run_id: run.id } });
    const messageTexts = events.filter(({ type }) => type === 'message').map(({ data }) => JSON.parse(data).message);
    expect(messageTexts).toEqual(messages);
    const { run: endedRun } = await api.ok('getRun', { params: { run_id: run.id } });
    expect(JSON.parse(events.at(-1)?.data ?? '')).toEqual({ run: endedRun });
  });

  itNeeding(needsSqlite, 'continue exactly after any of them, even after the service was killed', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const run = await api.run('asks', 'Go');
    await api.until(run.id, 'waiting');
    const reader = await open(api, run.id);
    const before = await reader.until('human_request.pending');
    await approve(api, run.id);
    const events = [...before, ...(await reader.rest())];
    const copy = await service({ behaviours: { asks: askBehaviour }, dataDirectory: await crashImage(api) });
    for (const target of [api, copy.as(api.service.token)]) {
      for (const [index, { id }] of events.entries()) {
        const secondEventReader = await open(target, run.id, resuming(id));
        // A reader that continues from before the run waited sees its current state: it has ended.
        const passedBy = index < before.length - 1 ? ['> waiting', '? Really?'] : [];
        const remainingEvents = lastingOf(events.slice(index + 1).map(inShort)).filter((event) => !passedBy.includes(event));
        expect(lastingOf((await secondEventReader.rest()).map(inShort)), `after ${id}`).toEqual(remainingEvents);
        expect(secondEventReader.status).toBe(index === events.length - 1 ? 204 : 200);
      }
    }
  });

  it('continue after the end of a run that has continued and ended again meanwhile', async () => {
    const api = await service();
    const run = await api.run('done', 'Go');
    await api.until(run.id, 'completed');
    const events = await (await open(api, run.id)).rest();
    const last = events.at(-1)?.id as string;
    expect((await open(api, run.id, resuming(last))).status).toBe(204);
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Again' } });
    await api.until(run.id, 'completed');
    const reader = await open(api, run.id, resuming(last));
    const rest = await reader.rest();
    expect(rest.map(inShort)).toEqual(['Again', 'finished completed']);
    expect((await open(api, run.id, resuming(rest.at(-1)?.id as string))).status).toBe(204);
  });

  it('start over if the messages differ from those that the reader has seen', async () => {
    const api = await service();
    const run = await api.run('done', 'Go');
    await api.until(run.id, 'completed');
    const reader = await open(api, run.id, resuming('7.00000000.running..'));
    expect(lastingOf((await reader.rest()).map(inShort))).toEqual(['Go', '> completed', 'finished completed']);
  });

  it('include reminders of a request, which continue exactly after any of them', async () => {
    const clock = new ManualClock();
    const api = await service({ clock, behaviours: { asks: askBehaviour } });
    await api.ok('updateLocalTeam', { params: { team_id: api.service.teamId }, body: { remind_after_seconds: 3_600 } });
    const run = await api.run('asks', 'Go');
    const [one, several] = [
      await open(api, run.id),
      await EventReader.open(api, `/v2/teams/${api.service.teamId}/runs/events?run_ids=${run.id}`),
    ];
    const pending = (await one.until('human_request.pending')).at(-1);
    await several.until('human_request.pending');
    clock.advance(3_600_000);
    const reminders = async () => (await api.ok('getRun', { params: { run_id: run.id } })).pending_human_request?.reminders;
    await within(60_000, clock, async () => (await reminders()) === 1);
    const [reminder] = await one.until('human_request.reminder');
    expect(JSON.parse(reminder?.data ?? '')).toMatchObject({ human_request: { title: 'Really?', reminders: 1 } });
    expect((await several.until('human_request.reminder')).map(inShort)).toEqual(['reminder: Really?']);
    // An ID without the number of reminders is that of an earlier version, or from before the first one.
    expect((await (await open(api, run.id, resuming(pending?.id))).until('human_request.reminder')).map(inShort)).toEqual([
      'reminder: Really?',
    ]);
    const after = [await open(api, run.id, resuming(reminder?.id)), await EventReader.open(api, `/v2/runs/${run.id}/events?from=now`)];
    await approve(api, run.id);
    for (const reader of after) expect((await reader.rest()).map(inShort)).not.toContain('reminder: Really?');
  });

  it('include a request that was withdrawn, and the next turn of a run that had ended', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const run = await api.run('asks', 'Go');
    const reader = await open(api, run.id);
    await reader.until('human_request.pending');
    await api.ok('stopRun', { params: { run_id: run.id } });
    const events = await reader.rest();
    expect(events.map(inShort)).toEqual(['withdrawn: Really?', '> interrupted', 'finished interrupted']);
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Again' } });
    const next = await open(api, run.id, resuming(events.at(-1)?.id));
    expect(lastingOf((await next.until('human_request.pending')).map(inShort))).toEqual(['Again', '> waiting', '? Really?']);
  });

  it('are the same for two readers, and for one that starts later', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const run = await api.run('asks', 'Go');
    const [firstReader, secondReader] = await Promise.all([open(api, run.id), open(api, run.id)]);
    const initialEvents = await Promise.all([firstReader.until('human_request.pending'), secondReader.until('human_request.pending')]);
    const lateReader = await open(api, run.id);
    const lateBegun = await lateReader.until('human_request.pending');
    await approve(api, run.id);
    const allEvents = [...(await firstReader.rest()), ...(await secondReader.rest()), ...(await lateReader.rest())].map(inShort);
    const remainingEvents = completeEvents.slice(4);
    expect(lastingOf(allEvents)).toEqual([...remainingEvents, ...remainingEvents, ...remainingEvents]);
    for (const events of [...initialEvents, lateBegun]) expect(lastingOf(events.map(inShort))).toEqual(completeEvents.slice(0, 4));
  });

  it('include occasional comments while nothing happens', async () => {
    const api = await service({ behaviours: { asks: askBehaviour }, httpLimits: { heartbeatMilliseconds: 20 } });
    const run = await api.run('asks', 'Go');
    const reader = await open(api, run.id);
    await reader.until('human_request.pending');
    const pendingEvents = reader.rest();
    await expect.poll(() => reader.text).toContain('\n\n:\n\n:\n\n');
    await api.ok('stopRun', { params: { run_id: run.id } });
    await pendingEvents;
  });

  it('end if they cannot be read, which the log explains, and continue when they can be', async () => {
    const entries: LogEntry[] = [];
    const first = await service({ behaviours: { asks: askBehaviour } });
    const { dataDirectory } = first;
    const { id } = await first.run('asks', 'Go');
    await first.until(id, 'waiting');
    await first.service.close();
    /** The service after the message of the run has changed. */
    const restarted = async (toolCall: string): Promise<Api> => {
      await alterStored(dataDirectory, `update messages set tool_call = ${toolCall} where seq = 2`);
      return service({ dataDirectory, behaviours: { asks: askBehaviour }, log: (entry) => entries.push(entry) });
    };
    const damaged = await restarted(`'{'`);
    const reader = await open(damaged, id);
    expect((await reader.rest()).map(inShort)).not.toContain('Before');
    const failures = entries.filter(({ message }) => message === 'a stream of events failed');
    expect(failures).toMatchObject([{ level: 'error', fields: { request: reader.headers['x-request-id'], error: expect.any(String) } }]);
    await damaged.service.close();
    const repaired = await restarted('null');
    expect((await (await open(repaired, id)).until('human_request.pending')).map(inShort)).toContain('? Really?');
  });

  it('count as one request, however many they are', async () => {
    const clock = new ManualClock();
    const manyBehaviour: Behaviour = async (host) => {
      for (let index = 0; index < 50; index += 1) await host.emit([{ kind: 'text', id: `m${index}`, text: `m${index}` }]);
      return { status: 'completed' };
    };
    const api = await service({ behaviours: { many: manyBehaviour }, clock });
    const run = await api.run('many');
    await api.until(run.id, 'completed');
    const before = await api.send('GET', `/v2/runs/${run.id}`);
    const reader = await open(api, run.id);
    expect((await reader.rest()).filter(({ type }) => type === 'message')).toHaveLength(50);
    const remainingOf = ({ headers }: { headers: Record<string, string | string[] | undefined> }) => Number(headers['ratelimit-remaining']);
    expect(remainingOf(reader)).toBe(remainingOf(before) - 1);
    expect(remainingOf(await api.send('GET', `/v2/runs/${run.id}`))).toBe(remainingOf(before) - 2);
  });
});

describe('the events of a team', () => {
  it('start with the pending requests, and continue with those that are made and settled', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const first = await api.run('asks', 'Go');
    await api.until(first.id, 'waiting');
    await api.call('streamTeamEvents');
    await api.call('streamRunEvents', { params: { run_id: first.id } });
    const reader = await openTeam(api);
    const [pending] = await reader.until('human_request.pending');
    expect(JSON.parse(pending?.data ?? '')).toMatchObject({
      human_request: { title: 'Really?', type: 'approval' },
      run: { id: first.id, title: 'Go', run_number: 1, agent_id: first.agent_id },
    });
    const second = await api.run('asks', 'Go on');
    expect(runOf(await reader.next())).toEqual(['human_request.pending', second.id]);
    await approve(api, first.id);
    expect(runOf(await reader.next())).toEqual(['human_request.resolved', first.id, 'answered']);
    await api.ok('stopRun', { params: { run_id: second.id } });
    expect(runOf(await reader.next())).toEqual(['human_request.resolved', second.id, 'withdrawn']);
  });

  itNeeding(needsSqlite, 'continue exactly after any of them, even after the service was killed', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const runs: string[] = [];
    const begin = async () => {
      const { id } = await api.run('asks', 'Go');
      await api.until(id, 'waiting');
      runs.push(id);
    };
    for (let count = 0; count < 3; count += 1) await begin();
    const reader = await openTeam(api);
    const events = [await reader.next(), await reader.next(), await reader.next()];
    await approve(api, runs[1] as string);
    events.push(await reader.next());
    await begin();
    events.push(await reader.next());
    expect(events.map((event) => runOf(event))).toEqual([
      ['human_request.pending', runs[0]],
      ['human_request.pending', runs[1]],
      ['human_request.pending', runs[2]],
      ['human_request.resolved', runs[1], 'answered'],
      ['human_request.pending', runs[3]],
    ]);
    const copy = await service({ behaviours: { asks: askBehaviour }, dataDirectory: await crashImage(api) });
    for (const target of [api, copy.as(api.service.token)]) {
      for (const [index, event] of events.slice(0, -1).entries()) {
        const secondEventReader = await openTeam(target, resuming(event?.id));
        // A request that was pending and has been settled is not reported as pending, only as settled.
        const expected = events.slice(index + 1).filter((candidate) => !(index === 0 && candidate === events[1]));
        for (const expectedEvent of expected)
          expect(runOf(await secondEventReader.next()), `after ${event?.id}`).toEqual(runOf(expectedEvent));
        secondEventReader.close();
      }
    }
  });

  it('are only those of the team', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const otherApi = await api.inNewTeam();
    const reader = await openTeam(api, {}, '?include=runs');
    expect((await reader.next())?.type).toBe('runs.changed');
    const foreignRun = await otherApi.run('asks', 'Theirs');
    await otherApi.until(foreignRun.id, 'waiting');
    const ownRun = await api.run('asks', 'Ours');
    expect(runOf((await reader.until('human_request.pending')).at(-1))).toEqual(['human_request.pending', ownRun.id]);
    expect((await EventReader.open(otherApi, `/v2/runs/${ownRun.id}/events`)).status).toBe(404);
    expect((await EventReader.open(otherApi, `/v2/teams/${api.service.teamId}/events`)).status).toBe(404);
  });

  it('with include=runs report when the list of runs has changed', async () => {
    const api = await service();
    const reader = await openTeam(api, {}, '?include=runs');
    expect(await reader.next()).toMatchObject({ type: 'runs.changed', data: '{}', id: '' });
    await api.run('done', 'Go');
    expect(await reader.next()).toMatchObject({ type: 'runs.changed' });
    expect((await openTeam(api, {}, '?include=all')).status).toBe(400);
  });
});

function runOf(event: { type: string; data: string } | undefined): (string | undefined)[] {
  const data = JSON.parse(event?.data ?? '{}') as { run?: { id: string }; run_id?: string; resolution?: string };
  return [event?.type, data.run?.id ?? data.run_id, ...(data.resolution === undefined ? [] : [data.resolution])];
}

describe('a stream', () => {
  it('is refused without permission to read, for a foreign event ID, and with another method', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const run = await api.run('asks', 'Go');
    const limitedApi = await api.withToken({ scopes: ['runs:write'] });
    for (const path of [`/v2/runs/${run.id}/events`, `/v2/teams/${api.service.teamId}/events`]) {
      expect((await limitedApi.send('GET', path)).status, path).toBe(403);
      expect((await api.send('GET', path, { headers: { authorization: 'Bearer wrong' } })).status, path).toBe(401);
      expect((await api.send('GET', path, { headers: resuming('nonsense') })).body, path).toMatchObject({ error: 'invalid_request' });
      expect((await api.send('POST', path)).status, path).toBe(405);
      expect((await api.send('HEAD', path)).headers['content-type'], path).toContain('text/event-stream');
    }
    expect((await open(api, '00000000-0000-4000-8000-000000000000')).status).toBe(404);
  });

  it('ends when its token is revoked or expires, and when its team is removed', async () => {
    const clock = new ManualClock();
    const api = await service({ behaviours: { asks: askBehaviour }, clock, httpLimits: { heartbeatMilliseconds: 20 } });
    const { token, secret } = await api.ok('createLocalToken', { body: { name: 'revoked' } });
    const expiring = await api.withToken({ expires_in_seconds: 60 });
    const otherApi = await api.inNewTeam();
    const readers = [await openTeam(api.as(secret)), await openTeam(expiring), await openTeam(otherApi)];
    const [revokedEvents, expiredEvents, removedEvents] = readers.map((reader) => reader.rest());
    await api.ok('revokeLocalToken', { params: { token_id: token.id } });
    expect(await revokedEvents).toEqual([]);
    await api.ok('deleteLocalTeam', { params: { team_id: otherApi.service.teamId } });
    expect(await removedEvents).toEqual([]);
    clock.advance(61_000);
    expect(await expiredEvents).toEqual([]);
  });

  it('counts against the limits of the credential and the service until its reader disconnects', async () => {
    const api = await service({ behaviours: { asks: askBehaviour }, httpLimits: { streams: 3, streamsPerCredential: 2 } });
    const otherApi = await api.withToken();
    const [first] = [await openTeam(api), await openTeam(api)];
    const refusal = await openTeam(api);
    expect([refusal.status, refusal.headers['retry-after']]).toEqual([429, '30']);
    await openTeam(otherApi);
    const otherStream = await openTeam(otherApi);
    expect([otherStream.status, otherStream.headers['retry-after']]).toEqual([503, '30']);
    first?.close();
    await expect.poll(async () => (await openTeam(otherApi)).status).toBe(200);
  });

  it('ends immediately with the service, even if its reader does not read', async () => {
    const longBehaviour: Behaviour = async (host) => {
      for (let index = 0; index < 40; index += 1) await host.emit([{ kind: 'text', id: `m${index}`, text: `${index}`.repeat(500_000) }]);
      return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
    };
    const api = await service({ behaviours: { asks: askBehaviour, long: longBehaviour } });
    const run = await api.run('asks', 'Go');
    const reader = await open(api, run.id);
    await reader.until('human_request.pending');
    const largeRun = await api.run('long');
    await api.until(largeRun.id, 'waiting');
    const stuckSocket = await dial(api);
    stuckSocket.pause();
    stuckSocket.write(`GET /v2/runs/${largeRun.id}/events HTTP/1.1\r\n${auth(api)}\r\n`);
    await new Promise<void>((resolve) => stuckSocket.once('readable', resolve));
    await runPromptly(() => api.service.close(), 3_000);
    expect(await reader.rest()).toEqual([]);
    expect(reader.text.endsWith('retry: 1000\n\n')).toBe(true);
  });

  it('buffers little of what its reader has not read', async () => {
    const size = 500_000;
    const count = 20;
    const longBehaviour: Behaviour = async (host) => {
      for (let index = 0; index < count; index += 1) await host.emit([{ kind: 'text', id: `m${index}`, text: 'x'.repeat(size) }]);
      return { status: 'completed' };
    };
    const api = await service({ behaviours: { long: longBehaviour } });
    const run = await api.run('long');
    await api.until(run.id, 'completed');
    const responses: ServerResponse[] = [];
    const onRequestStart = (message: unknown): void => void responses.push((message as { response: ServerResponse }).response);
    subscribe('http.server.request.start', onRequestStart);
    afterTest(() => unsubscribe('http.server.request.start', onRequestStart));
    const sockets = await Promise.all(Array.from({ length: 10 }, () => dial(api)));
    for (const socket of sockets) {
      socket.pause();
      socket.write(`GET /v2/runs/${run.id}/events HTTP/1.1\r\n${auth(api)}\r\n`);
    }
    await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.once('readable', resolve))));
    const reader = await open(api, run.id);
    expect((await reader.rest()).filter(({ type }) => type === 'message')).toHaveLength(count);
    // While one reader read everything, the others read almost nothing: each has at most the piece sent last and the next event.
    const heldBytes = responses.map((response) => (response.socket?.writableLength ?? 0) + response.writableLength);
    expect(Math.max(...heldBytes)).toBeGreaterThan(0);
    expect(Math.max(...heldBytes)).toBeLessThan(3 * size);
  });

  it('is described in the OpenAPI document', async () => {
    const api = await service();
    const document = parse((await api.send('GET', '/v2/openapi.json')).text) as {
      paths: Record<string, { get: { responses: Record<string, { content: object }> } }>;
    };
    for (const path of ['/v2/runs/{run_id}/events', '/v2/teams/{teamId}/events'])
      expect(Object.keys(document.paths[path]?.get.responses['200']?.content ?? {})).toEqual(['text/event-stream']);
  });
});

describe('the events of several runs', () => {
  const openSeveral = (api: Api, ids: readonly string[], headers?: Record<string, string>) =>
    EventReader.open(api, `/v2/teams/${api.service.teamId}/runs/events?run_ids=${ids.join(',')}`, headers);
  const runOf = ({ data }: { data: string }) => (JSON.parse(data) as { run_id: string }).run_id;

  it('name their run, are complete for each of them, and end when all have ended', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const ids = [(await api.run('asks', 'Go')).id, (await api.run('asks', 'Go')).id];
    const reader = await openSeveral(api, ids);
    const before = [...(await reader.until('human_request.pending')), ...(await reader.until('human_request.pending'))];
    for (const id of ids) await approve(api, id);
    const events = [...before, ...(await reader.rest())];
    for (const id of ids) expect(lastingOf(events.filter((event) => runOf(event) === id).map(inShort))).toEqual(completeEvents);
  });

  it('continue after the last event of each run', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const ids = [(await api.run('asks', 'Go')).id, (await api.run('asks', 'Go')).id];
    const first = await openSeveral(api, ids);
    const before = [...(await first.until('human_request.pending')), ...(await first.until('human_request.pending'))];
    first.close();
    for (const id of ids) await approve(api, id);
    const lastIds = ids.map((id) => before.findLast((event) => runOf(event) === id)?.id);
    const events = [...before, ...(await (await openSeveral(api, ids, resuming(lastIds.join(',')))).rest())];
    for (const id of ids) expect(lastingOf(events.filter((event) => runOf(event) === id).map(inShort))).toEqual(completeEvents);
  });

  it('report a run that does not exist, or belongs to another team, as missing', async () => {
    const api = await service({ behaviours: { asks: askBehaviour } });
    const missing = '00000000-0000-4000-8000-000000000001';
    const { id } = await api.run('asks', 'Go');
    const reader = await openSeveral(api, [missing, id]);
    const events = await reader.until('human_request.pending');
    expect(events.filter(({ type }) => type === 'run.missing').map(runOf)).toEqual([missing]);
    const other = await api.inNewTeam();
    const foreign = await openSeveral(other, [id]);
    expect((await foreign.rest()).map(inShort)).toEqual(['run.missing']);
  });

  it.each(['', 'x', Array.from({ length: 51 }, (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`).join(',')])(
    'are refused for a list of runs such as %.10s',
    async (ids) => {
      const api = await service({});
      expect((await api.call('streamRunsEvents', { query: { run_ids: ids } })).status).toBe(400);
    },
  );
});
