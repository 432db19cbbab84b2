/** Changes whose outcome is unknown: the journal records them, and `aops retry` settles them. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scriptedServer } from '../../client/harness.ts';
import { json, noAnswer, type RawServer } from '../../faults/raw-server.ts';
import { runCli } from '../../support/run-cli.ts';
import { folderEnv } from '../../support/service.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const secret = 'aops_key_of_nobody_0123456789';
const run = randomUUID();
const stop = ['runs', 'stop', run, '--idempotency-key', 'stop-it'];
const stopAnswer = json(200, { success: true });

let folder: string;
let server: RawServer;
let env: Record<string, string>;
beforeEach(async () => {
  folder = await temporaryFolder();
  server = await scriptedServer();
  env = { ...folderEnv(folder), AOPS_API_KEY: secret, AOPS_BASE_URL: server.url, AOPS_TEAM_ID: randomUUID(), AOPS_NO_RATE_SHARING: '1' };
});

const aops = (...argv: string[]) => runCli(argv, { env, cwd: folder });
const journal = () => path.join(folder, 'data', 'journal');

/** A change that is cut off by --timeout after it was sent. If the time is too short on a loaded machine, it is increased. */
async function cutOff(milliseconds = 200): Promise<void> {
  server.always(noAnswer('stall'));
  const timeoutResult = await aops(...stop, '--timeout', `${milliseconds}ms`, '--json');
  expect(timeoutResult).toMatchObject({ code: 9, stdout: '' });
  // The whole request has been read.
  await server.until(({ open }) => open === 0);
  if (server.requests.length === 0) return cutOff(milliseconds * 4);
  expect(server.requests).toHaveLength(1);
  expect(JSON.parse(timeoutResult.stderr.trimEnd().split('\n').at(-1) as string)).toMatchObject({
    error: { exit: 9, idempotency_key: 'stop-it' },
  });
}

describe('aops retry', () => {
  it('repeats a change without a response with its key, and removes it', async () => {
    server.always(noAnswer('reset'));
    const refusal = await aops(...stop);
    expect(refusal).toMatchObject({ code: 13, stdout: '' });
    expect(refusal.stderr).toContain('aops retry stop-it');
    const attempts = server.requests.length;
    expect((await aops('retry', '--json')).json<{ data: unknown[] }>().data).toMatchObject([
      { id: 'stop-it', method: 'POST', path: `/v2/runs/${run}/stop`, base_url: server.url },
    ]);

    server.always(stopAnswer);
    const settleResult = await aops('retry', 'stop-it');
    expect(settleResult).toMatchObject({ code: 0, stdout: '{"success":true}\n' });
    expect(settleResult.stderr).toBe(
      `Settled: POST /v2/runs/${run}/stop. If the command makes more changes, run it again with --idempotency-key stop-it to make the remaining ones.\n`,
    );
    expect(server.requests.slice(attempts)).toMatchObject([{ method: 'POST', path: `/v2/runs/${run}/stop` }]);
    expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key']))).toEqual(new Set(['stop-it']));
    expect((await aops('retry', '-o', 'id')).stdout).toBe('');
    expect((await aops('retry', 'stop-it')).code).toBe(3);
    for (const text of [refusal.stderr, settleResult.stderr]) expect(text).not.toContain(secret);
  });

  it('records a change that --timeout cut off, privately and without the credential', async () => {
    await cutOff();
    const [name = ''] = await readdir(journal());
    const file = path.join(journal(), name);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(journal())).mode & 0o777).toBe(0o700);
    expect(await readFile(file, 'utf8')).not.toContain(secret);
  });

  it('does not record a change with a response, even a rejection', async () => {
    server.plan(stopAnswer, json(409, { error: 'conflict' }));
    expect((await aops(...stop)).code).toBe(0);
    expect((await aops('runs', 'stop', run)).code).toBe(6);
    expect(await readdir(journal())).toEqual([]);
  });

  it('sends nothing to another service', async () => {
    await cutOff();
    const otherServer = await scriptedServer();
    env.AOPS_BASE_URL = otherServer.url;
    expect(await aops('retry', 'stop-it')).toMatchObject({ code: 2, stdout: '' });
    expect(otherServer.requests).toEqual([]);
    env.AOPS_BASE_URL = server.url;
    expect((await aops('retry', '-o', 'id')).stdout).toBe('stop-it\n');
  });

  it('sends nothing with another credential, for which the service would carry out the change again', async () => {
    await cutOff();
    env.AOPS_API_KEY = 'aops_key_of_somebody_9876543210';
    const otherResult = await aops('retry', 'stop-it');
    expect(otherResult).toMatchObject({ code: 2, stdout: '' });
    expect(otherResult.stderr).toContain('could be carried out twice');
    for (const hidden of [secret, env.AOPS_API_KEY]) expect(otherResult.stderr).not.toContain(hidden);
    expect(server.requests).toHaveLength(1);
    env.AOPS_API_KEY = secret;
    server.always(stopAnswer);
    expect(await aops('retry', 'stop-it')).toMatchObject({ code: 0 });
  });

  it('keeps the same key separate for other services and credentials', async () => {
    await cutOff();
    const otherServer = await scriptedServer();
    otherServer.always(stopAnswer);
    server.always(stopAnswer);
    env.AOPS_BASE_URL = otherServer.url;
    expect((await aops(...stop)).code).toBe(0);
    env.AOPS_BASE_URL = server.url;
    env.AOPS_API_KEY = 'aops_key_of_somebody_9876543210';
    expect((await aops(...stop)).code).toBe(0);
    env.AOPS_API_KEY = secret;
    expect((await aops('retry', '-o', 'id')).stdout).toBe('stop-it\n');
    expect((await aops('retry', 'stop-it')).code).toBe(0);
    expect((await aops('retry', '-o', 'id')).stdout).toBe('');
  });

  it('is suggested by a repeated command that finds the effects of its own change', async () => {
    const deleteArgv = ['agents', 'delete', run, '--yes', '--idempotency-key', 'delete-it', '--json'];
    server.plan(json(200, { agent: { id: run, name: 'helper' } }));
    server.always(noAnswer('reset'));
    expect((await aops(...deleteArgv)).code).toBe(13);
    server.always(json(404, { error: 'agent_not_found', message: 'There is no such agent.' }));
    const repeatResult = await aops(...deleteArgv);
    expect(repeatResult).toMatchObject({ code: 13, stdout: '' });
    expect(JSON.parse(repeatResult.stderr)).toMatchObject({
      error: { code: 'outcome_unknown', hint: 'Settle it with `aops retry delete-it`.', idempotency_key: 'delete-it' },
    });
    server.always(stopAnswer);
    expect(await aops('retry', 'delete-it')).toMatchObject({ code: 0, stdout: '{"success":true}\n' });
    // The change is settled, so the command reports the current state.
    server.always(json(404, { error: 'agent_not_found' }));
    expect((await aops(...deleteArgv)).code).toBe(3);
  });

  it('removes changes that are too old to be sent again', async () => {
    await cutOff();
    const [name = ''] = await readdir(journal());
    const file = path.join(journal(), name);
    const entry = JSON.parse(await readFile(file, 'utf8')) as { sent_at: string };
    await writeFile(file, JSON.stringify({ ...entry, sent_at: new Date(Date.now() - 24 * 3_600_000).toISOString() }));
    expect(await aops('retry', 'stop-it')).toMatchObject({ code: 3 });
    expect(await readdir(journal())).toEqual([]);
  });
});

it('aops doctor counts open changes, and says how to settle them', async () => {
  await cutOff();
  server.always(json(200, {}));
  const { checks } = (await aops('doctor', '--json')).json<{ checks: { id: string; status: string; detail: string; hint: string }[] }>();
  expect(checks.find(({ id }) => id.startsWith('open'))).toMatchObject({
    status: 'warn',
    detail: '1 change with an unknown outcome',
    hint: expect.stringContaining('aops retry'),
  });
});
