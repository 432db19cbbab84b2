/** The journal of changes whose outcome is unknown, over real files. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { capitalize } from '../../src/base/capitalize.ts';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import { ChangeJournal, journalLifeMilliseconds, requestOf } from '../../src/client/journal.ts';
import type { CallOptions } from '../../src/client/options.ts';
import type { ServiceRequest } from '../../src/client/request.ts';
import type { Input } from '../../src/interface/types.ts';
import { json, noAnswer } from '../faults/raw-server.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from './harness.ts';

const url = 'https://agents.example';
const keys = { key: 'mine.2', commandKey: 'mine' };
const change: ServiceRequest = { method: 'POST', path: '/v2/runs', headers: {}, mutates: true };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const creation = json(201, { run: {} });
const maxBodyBytes = 1024 * 1024;

let folder: string;
let clock: ManualClock;
let journal: ChangeJournal;
beforeEach(async () => {
  folder = path.join(await temporaryFolder(), 'data', 'journal');
  clock = new ManualClock();
  journal = new ChangeJournal(folder, clock, 'token abc');
});

const storedKeys = async (): Promise<string[]> => (await journal.list()).map(({ key }) => key);

describe('an entry', () => {
  it('contains what is needed to send the change again, and is private', async () => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      'mcp-method': 'tools/call',
      'mcp-name': 'search',
      authorization: 'Bearer secret-token',
      cookie: 'secret-cookie',
    };
    expect(await journal.open({ ...change, headers, body: '{"a":"é"}' }, keys, url)).toBe(true);
    const [entry] = await journal.list();
    const { authorization, cookie, 'content-type': contentType, ...otherFields } = headers;
    expect(entry).toEqual({
      key: 'mine.2',
      command_key: 'mine',
      base_url: url,
      credential: 'token abc',
      method: 'POST',
      path: '/v2/runs',
      content_type: contentType,
      headers: otherFields,
      body: Buffer.from('{"a":"é"}').toString('base64'),
      sent_at: '2026-07-18T09:00:00.000Z',
    });
    const [name = '', ...otherNames] = await readdir(folder);
    expect(otherNames).toEqual([]);
    expect(await readFile(path.join(folder, name), 'utf8')).not.toContain('secret');
    expect([(await stat(folder)).mode & 0o777, (await stat(path.join(folder, name))).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it.each<[string, Partial<ServiceRequest>]>([
    ['without a body', {}],
    ['with an empty body', { body: Buffer.from('') }],
    ['with bytes', { headers: { 'content-type': 'application/octet-stream' }, body: Buffer.from([0, 255, 10]) }],
    ['with a header', { headers: { accept: 'application/json' } }],
  ])('%s becomes the same request again', async (_, request) => {
    await journal.open({ ...change, ...request }, keys, url);
    const [entry] = await journal.list();
    expect(entry && requestOf(entry)).toEqual({ ...change, ...request });
  });

  it('whose answer may be an event stream is read as one', async () => {
    await journal.open({ ...change, headers: { accept: 'application/json, text/event-stream' } }, keys, url);
    const [entry] = await journal.list();
    expect(entry && requestOf(entry).onMessage?.('{"jsonrpc":"2.0","id":1,"result":{}}')).toBe(true);
  });

  it('is not stored when its body is large', async () => {
    expect(await journal.open({ ...change, body: Buffer.alloc(maxBodyBytes + 1) }, keys, url)).toBe(false);
    expect(await storedKeys()).toEqual([]);
    expect(await journal.open({ ...change, body: Buffer.alloc(maxBodyBytes) }, keys, url)).toBe(true);
    expect(await storedKeys()).toEqual(['mine.2']);
  });

  it('is only replaced by a complete one', async () => {
    await journal.open(change, keys, url);
    const [name = ''] = await readdir(folder);
    await mkdir(path.join(folder, `${name}.new`));
    expect(await journal.open({ ...change, path: '/v2/agents' }, keys, url)).toBe(false);
    expect((await journal.list()).map((entry) => entry.path)).toEqual(['/v2/runs']);
  });

  it('that cannot be stored leaves nothing behind', async () => {
    await journal.open(change, keys, url);
    const [name = ''] = await readdir(folder);
    await rm(path.join(folder, name));
    // A file cannot replace a folder.
    await mkdir(path.join(folder, name, 'in the way'), { recursive: true });
    expect(await journal.open(change, keys, url)).toBe(false);
    expect(await readdir(folder)).toEqual([name]);
  });

  it('that cannot be stored is not an error', async () => {
    await mkdir(path.dirname(folder), { recursive: true });
    await writeFile(folder, 'in the way');
    expect(await journal.open(change, keys, url)).toBe(false);
    await journal.settle(keys.key, url);
    expect(await journal.list()).toEqual([]);
  });
});

describe('the list', () => {
  it('is ordered by time, and contains each change once', async () => {
    for (const key of ['c', 'a', 'b', 'a']) {
      await journal.open(change, { key, commandKey: key }, url);
      clock.advance(1);
    }
    expect(await storedKeys()).toEqual(['c', 'b', 'a']);
  });

  it('is empty when there is no folder', async () => {
    expect(await journal.list()).toEqual([]);
  });

  it('contains the changes of all services and credentials, each of which is settled separately', async () => {
    const otherJournal = new ChangeJournal(folder, clock, 'token xyz');
    await journal.open(change, keys, url);
    await journal.open(change, keys, 'https://elsewhere.example');
    await otherJournal.open(change, keys, url);
    expect(await journal.list()).toHaveLength(3);
    await journal.settle('another', url);
    await journal.settle(keys.key, url);
    expect((await journal.list()).map(({ base_url, credential }) => [base_url, credential])).toEqual(
      expect.arrayContaining([
        ['https://elsewhere.example', 'token abc'],
        [url, 'token xyz'],
      ]),
    );
    expect(await journal.list()).toHaveLength(2);
  });

  it('forgets a change when the service has forgotten its key', async () => {
    await journal.open(change, keys, url);
    clock.advance(journalLifeMilliseconds - 1);
    expect(await storedKeys()).toEqual(['mine.2']);
    clock.advance(1);
    expect(await storedKeys()).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['', '{', 'null', '[]', '{"key":"a"}', 'without a time', 'without a path'])('removes a file that contains %j', async (text) => {
    await journal.open(change, keys, url);
    const [entry] = await journal.list();
    const { sent_at, path: requestPath, ...otherFields } = entry as NonNullable<typeof entry>;
    const damagedEntries = { 'without a time': { ...otherFields, path: requestPath }, 'without a path': { ...otherFields, sent_at } };
    const content = text in damagedEntries ? JSON.stringify(damagedEntries[text as keyof typeof damagedEntries]) : text;
    await writeFile(path.join(folder, 'damaged.json'), content);
    expect(await storedKeys()).toEqual(['mine.2']);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it('ignores files that are still being written', async () => {
    await journal.open(change, keys, url);
    await writeFile(path.join(folder, 'x.json.new'), '');
    expect(await storedKeys()).toEqual(['mine.2']);
    expect(await readdir(folder)).toContain('x.json.new');
  });
});

describe('a change of the client', () => {
  it('is in the journal while it is in flight, and not afterwards', async () => {
    const server = await scriptedServer(noAnswer('stall'), creation);
    const { client, clock: time } = newClient(server.url, { journal, idempotencyKey: 'mine' });
    const result = client.call('startRun', start);
    await server.until(({ requests }) => requests.length === 1);
    expect(await storedKeys()).toEqual(['mine']);
    // The attempt takes too long, and the next one succeeds.
    time.advance(30_000);
    await result;
    expect(await storedKeys()).toEqual([]);
  });

  it.each([
    ['refused', json(403, { error: 'forbidden' }), 5],
    ['refused after all attempts', json(429, { error: 'rate_limited' }), 7],
  ])('is removed when it was %s', async (_, step, exit) => {
    const server = (await scriptedServer()).always(step);
    const { client } = newClient(server.url, { journal });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit });
    expect(await storedKeys()).toEqual([]);
  });

  it('remains when its outcome is unknown, under the key that the service knows', async () => {
    const server = (await scriptedServer()).always(noAnswer('reset'));
    const { client } = newClient(server.url, { journal, idempotencyKey: 'mine' });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 13 });
    expect(await storedKeys()).toEqual(['mine']);
    server.always(creation);
    await newClient(server.url, { journal, idempotencyKey: 'mine' }).client.call('startRun', start);
    expect(await storedKeys()).toEqual([]);
  });

  it('remains when it was interrupted, unless nothing was sent', async () => {
    const server = await scriptedServer(noAnswer('stall'));
    const controller = new AbortController();
    const { client } = newClient(server.url, { journal, signal: controller.signal });
    const failure = failureOf(client.call('startRun', start));
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(new Error('enough'));
    await failure;
    expect(await storedKeys()).toHaveLength(1);
    await journal.settle((await storedKeys())[0] ?? '', server.url);
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ message: 'enough' });
    expect(await storedKeys()).toEqual([]);
  });

  it('is not stored when it is confidential', async () => {
    const server = (await scriptedServer()).always(noAnswer('reset'));
    const { client } = newClient(server.url, { journal });
    expect(await failureOf(client.call('startRun', start, { confidential: true }))).toMatchObject({ exit: 13 });
    expect(await storedKeys()).toEqual([]);
  });

  const repeat = 'run the same command again with --idempotency-key mine. Within 24 hours it is carried out at most once.';
  const large = { ...start, body: { agent_id: 'a1', message: 'x'.repeat(maxBodyBytes) } };
  it.each<[string, Input<'startRun'>, CallOptions, string]>([
    ['was noted', start, {}, `Settle it with \`aops retry mine\`, or ${repeat}`],
    ['is confidential', start, { confidential: true }, capitalize(repeat)],
    ['is large', large, {}, capitalize(repeat)],
  ])('has a hint that names `aops retry` only if that can settle it: it %s', async (_, input, options, hint) => {
    const server = (await scriptedServer()).always(noAnswer('reset'));
    const { client } = newClient(server.url, { journal, idempotencyKey: 'mine' });
    expect(await failureOf(client.call('startRun', input, options))).toMatchObject({ exit: 13, hint });

    const timeUp = new AopsError('The time is over.', { code: 'timeout', exit: exitCodes.timeout });
    const controller = new AbortController();
    const interrupted = newClient(server.url, { journal, idempotencyKey: 'mine', signal: controller.signal });
    server.always(noAnswer('stall'));
    const count = server.requests.length;
    const failure = failureOf(interrupted.client.call('startRun', input, options));
    await server.until(({ requests }) => requests.length > count);
    controller.abort(timeUp);
    expect(await failure).toMatchObject({ exit: 9, hint });
  });

  it('is settled also by a command that could not note it again', async () => {
    const server = (await scriptedServer()).always(noAnswer('reset'));
    await failureOf(newClient(server.url, { journal, idempotencyKey: 'mine' }).client.call('startRun', start));
    const [name = ''] = await readdir(folder);
    await mkdir(path.join(folder, `${name}.new`));
    server.always(creation);
    await newClient(server.url, { journal, idempotencyKey: 'mine' }).client.call('startRun', start);
    expect(await storedKeys()).toEqual([]);
  });

  it('is sent even if the journal cannot be written', async () => {
    await mkdir(path.dirname(folder), { recursive: true });
    await writeFile(folder, 'in the way');
    const server = await scriptedServer(creation);
    expect(await newClient(server.url, { journal }).client.call('startRun', start)).toEqual({ run: {} });
  });

  it('that only reads is not stored', async () => {
    const server = (await scriptedServer()).always(noAnswer('reset'));
    await failureOf(newClient(server.url, { journal }).client.call('getRun', { params: { run_id: 'r1' } }));
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });
});
