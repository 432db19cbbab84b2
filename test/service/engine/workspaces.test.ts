/** The files of sandboxes on several nodes: what a step produced is on every node as soon as the step is recorded. */
import { createHash } from 'node:crypto';
import { readdir, rm, symlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { ServiceOptions } from '../../../src/service/service.ts';
import { misbehaving } from '../../agents/installed.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { newRepository } from '../../support/repository.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { tarOf } from '../../support/tar.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { openNode } from '../helpers/postgres.ts';
import { type Behaviour, Gate, runOnce } from '../helpers/runtime.ts';
import { type Api, config, startApi } from '../helpers/service.ts';
import { uploadForm } from '../helpers/uploads.ts';

/** Starts nodes one after the other, each behind a proxy to the database. */
async function newCluster(behaviours: Record<string, Behaviour>, options: Partial<ServiceOptions> = {}) {
  const url = await newDatabase();
  const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
  return async () => {
    const proxy = await DatabaseProxy.to(url);
    return { proxy, api: await startApi({ ...options, behaviours, database: { url: proxy.url, maxConnections: 5, secretKeyFile } }) };
  };
}

const namesOf = async (api: Api, runId: string, folder?: string): Promise<string[]> => {
  const { data } = await api.ok('listRunSandboxFiles', { params: { run_id: runId }, query: folder === undefined ? {} : { path: folder } });
  return data.entries.map(({ name }) => name);
};
const contentOf = async (api: Api, runId: string, file: string): Promise<string | null> =>
  (await api.ok('getRunSandboxFileContent', { params: { run_id: runId }, query: { path: file } })).data.content;

async function startNodes(behaviours: Record<string, Behaviour>, options: Partial<ServiceOptions> = {}) {
  const startNode = await newCluster(behaviours, options);
  const { api, proxy } = await startNode();
  return { a: api, b: (await startNode()).api, url: proxy.url };
}

/** What the interface shows of the files of a run, apart from URLs. */
async function views(api: Api, runId: string) {
  const params = { run_id: runId };
  const { entries } = (await api.ok('listRunSandboxFiles', { params })).data;
  const { entries: inner } = (await api.ok('listRunSandboxFiles', { params, query: { path: 'data' } })).data;
  const read = async (file: string) => (await api.ok('getRunSandboxFileContent', { params, query: { path: file } })).data;
  const { download_url: url, ...binary } = await read('data/b.bin');
  const whole = await api.send('GET', String(url), { anonymous: true });
  const range = await api.send('GET', String((await read('large.txt')).download_url ?? url), {
    headers: { range: 'bytes=1-2' },
    anonymous: true,
  });
  const archive = await api.send('GET', `/v2/runs/${runId}/sandbox/files/archive`);
  return {
    names: entries.map(({ name }) => name),
    entries: [...entries, ...inner],
    text: (await read('data/a.txt')).content,
    linked: (await read('link')).content,
    binary,
    download: [whole.status, whole.text, whole.headers.etag, whole.headers['content-length']],
    range: [range.status, range.text],
    archive: createHash('sha256').update(archive.text).digest('hex'),
  };
}

describeNeeding(needsPostgres, 'the files of a run on two nodes', () => {
  it('are those of the completed steps when another node continues the run', async () => {
    const clock = new ManualClock();
    const isHanging = new Gate();
    const gate = new Gate();
    const lateErrors: string[] = [];
    const isDone = new Gate();
    let isFirst = true;
    let found: string[] | undefined;
    const startNode = await newCluster(
      {
        files: async (host) => {
          await runOnce(host, 'one', async () => {
            await host.sandbox.write('kept/one.txt', Buffer.from('one'));
            await host.sandbox.write('changed.txt', Buffer.from('first'));
            await host.sandbox.write('removed.txt', Buffer.from('x'));
          });
          if (isFirst) {
            isFirst = false;
            await host.sandbox.write('changed.txt', Buffer.from('unfinished'));
            await host.sandbox.write('unfinished.txt', Buffer.from('x'));
            isHanging.open();
            await gate.opened;
            await host.commit('late', null).catch((error: Error) => lateErrors.push(error.name));
            isDone.open();
            throw new Error('This node has lost the run.');
          }
          await runOnce(host, 'two', async () => {
            found = (await host.sandbox.list('')).map(({ name }) => name);
            await host.sandbox.write('two.txt', (await host.sandbox.read('changed.txt', 100)).bytes);
          });
          return { status: 'completed' };
        },
      },
      { clock },
    );
    const { api: a, proxy } = await startNode();
    const run = await a.run('files');
    await isHanging.opened;
    const { api: b } = await startNode();
    // The other node shows what was recorded, and the one that executes the run shows what is there.
    expect(await namesOf(b, run.id)).toEqual(['changed.txt', 'kept', 'removed.txt']);
    expect(await namesOf(a, run.id)).toEqual(['changed.txt', 'kept', 'removed.txt', 'unfinished.txt']);
    proxy.cut();
    await within(60_000, clock, async () => (await b.ok('getRun', { params: { run_id: run.id } })).run.status === 'completed');
    expect(found).toEqual(['changed.txt', 'kept', 'removed.txt']);
    proxy.restore();
    gate.open();
    await isDone.opened;
    expect(lateErrors).toEqual(['RunLostError']);
    for (const api of [a, b]) {
      expect(await namesOf(api, run.id)).toEqual(['changed.txt', 'kept', 'removed.txt', 'two.txt']);
      expect(await contentOf(api, run.id, 'two.txt')).toBe('first');
    }
  });

  it('can be listed, read, and downloaded from a node that does not execute the run', async () => {
    const { a, b } = await startNodes({
      files: async (host) => {
        await runOnce(host, 'one', async () => {
          await host.sandbox.write('data/a.txt', Buffer.from('0123456789'));
          await host.sandbox.write('data/b.bin', Buffer.from([0, 1, 2]));
          await host.sandbox.write('large.txt', Buffer.alloc(300_000, 'x'));
          await host.sandbox.write('empty', Buffer.alloc(0));
          await symlink('data/a.txt', path.join(host.sandbox.directory, 'link'));
          await symlink('/etc/passwd', path.join(host.sandbox.directory, 'outside'));
        });
        return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Continue?' } };
      },
    });
    const run = await a.run('files');
    await b.until(run.id, 'waiting');
    const [here, there] = await Promise.all([a, b].map((api) => views(api, run.id)));
    expect(there).toEqual(here);
    expect(there).toMatchObject({
      names: ['data', 'empty', 'large.txt'],
      text: '0123456789',
      linked: '0123456789',
      range: [206, '\u0001\u0002'],
    });
    for (const api of [a, b])
      expect((await api.call('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: 'outside' } })).body).toMatchObject({
        error: 'invalid_path',
      });
  });

  it('include what is uploaded through another node while the run waits, and while it works', async () => {
    const isWorking = new Gate();
    const isUploaded = new Gate();
    const found: string[] = [];
    const { a, b } = await startNodes({
      upload: async (host) => {
        await runOnce(host, 'one', () => host.sandbox.write('own.txt', Buffer.from('own')));
        if (host.answer('ask') === undefined) return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Continue?' } };
        await runOnce(host, 'two', async () => {
          found.push((await host.sandbox.read('in/waiting.txt', 10)).bytes.toString());
          isWorking.open();
          await isUploaded.opened;
        });
        // Uploaded during the last step, so this one has it.
        await runOnce(host, 'three', async () => found.push((await host.sandbox.read('in/working.txt', 10)).bytes.toString()));
        return { status: 'completed' };
      },
    });
    const run = await a.run('upload');
    await a.until(run.id, 'waiting');
    const { run: detail, pending_human_request: request } = await a.ok('getRun', { params: { run_id: run.id } });
    const sandbox = { sandbox_id: String(detail.sandbox_id) };
    const send = async (api: Api, file: string, text: string): Promise<void> =>
      expect(await api.call('uploadSandboxFile', { params: sandbox, body: uploadForm(file, text) })).toMatchObject({ status: 201 });
    await send(b, 'in/waiting.txt', 'waiting');
    expect(await contentOf(a, run.id, 'in/waiting.txt')).toBe('waiting');
    await a.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: String(request?.id) }, body: { approved: true } });
    await isWorking.opened;
    for (const api of [a, b]) await send(api, 'in/working.txt', api === a ? 'from a' : 'from b');
    isUploaded.open();
    await b.until(run.id, 'completed');
    expect(found).toEqual(['waiting', 'from b']);
    const refusal = await b.call('uploadSandboxFile', { params: sandbox, body: uploadForm('in', 'x') });
    expect([refusal.status, refusal.body]).toEqual([400, expect.objectContaining({ error: 'not_a_file' })]);
  });

  it('include what was uploaded during a step that changes nothing, even if no notification arrives', async () => {
    const isWorking = new Gate();
    const isUploaded = new Gate();
    let found: string | undefined;
    const startNode = await newCluster({
      upload: async (host) => {
        await runOnce(host, 'one', async () => {
          isWorking.open();
          await isUploaded.opened;
        });
        await runOnce(host, 'two', async () => {
          found = await host.sandbox.read('in/a.txt', 10).then(
            ({ bytes }) => bytes.toString(),
            () => 'missing',
          );
        });
        return { status: 'completed' };
      },
    });
    const { api: a, proxy } = await startNode();
    const run = await a.run('upload');
    await isWorking.opened;
    proxy.dropNotifications();
    const { api: b } = await startNode();
    const { run: detail } = await b.ok('getRun', { params: { run_id: run.id } });
    const params = { sandbox_id: String(detail.sandbox_id) };
    expect(await b.call('uploadSandboxFile', { params, body: uploadForm('in/a.txt', 'a') })).toMatchObject({ status: 201 });
    isUploaded.open();
    await b.until(run.id, 'completed');
    expect(found).toBe('a');
  });

  it('keep an upload that a step has not seen, unless the step has changed the content of the file', async () => {
    const isWorking = new Gate();
    const isUploaded = new Gate();
    const names = ['touched', 'removed', 'folder/removed', 'changed'];
    const found: Record<string, string> = {};
    const startNode = await newCluster({
      upload: async (host) => {
        const place = (name: string): string => path.join(host.sandbox.directory, name);
        if (host.answer('ask') === undefined) return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Continue?' } };
        await runOnce(host, 'one', async () => {
          isWorking.open();
          await isUploaded.opened;
          await utimes(place('touched'), 1, 1);
          await rm(place('removed'));
          await rm(place('folder'), { recursive: true });
          await host.sandbox.write('changed', Buffer.from('by the run'));
        });
        await runOnce(host, 'two', async () => {
          for (const name of names)
            found[name] = await host.sandbox.read(name, 100).then(
              ({ bytes }) => bytes.toString(),
              () => 'missing',
            );
        });
        return { status: 'completed' };
      },
    });
    const { api: a, proxy } = await startNode();
    const run = await a.run('upload');
    await a.until(run.id, 'waiting');
    const { run: detail, pending_human_request: request } = await a.ok('getRun', { params: { run_id: run.id } });
    const send = async (api: Api, text: string): Promise<void> => {
      for (const name of names)
        expect(
          await api.call('uploadSandboxFile', { params: { sandbox_id: String(detail.sandbox_id) }, body: uploadForm(name, text) }),
        ).toMatchObject({ status: 201 });
    };
    await send(a, 'first');
    await a.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: String(request?.id) }, body: { approved: true } });
    await isWorking.opened;
    // Otherwise the node that executes the run may write the uploads to its folder before the step changes something.
    proxy.dropNotifications();
    const { api: b } = await startNode();
    await send(b, 'second');
    isUploaded.open();
    await a.until(run.id, 'completed');
    const expected = { touched: 'second', removed: 'second', 'folder/removed': 'second', changed: 'by the run' };
    expect(found).toEqual(expected);
    for (const [name, content] of Object.entries(expected)) expect(await contentOf(b, run.id, name)).toBe(content);
  });

  it('are removed everywhere with the run, also from the file store', async () => {
    const clock = new ManualClock();
    const { a, b, url } = await startNodes(
      {
        files: async (host) => {
          await runOnce(host, 'one', () => host.sandbox.write('a', Buffer.from('a')));
          return { status: 'completed' };
        },
      },
      { clock, runRetention: 60_000 },
    );
    const run = await a.run('files');
    await a.until(run.id, 'completed');
    expect(await contentOf(b, run.id, 'a')).toBe('a');
    const copies = async (): Promise<string[]> =>
      (await Promise.all([a, b].map((api) => readdir(path.join(api.dataDirectory, 'sandboxes')).catch(() => [])))).flat();
    expect(await copies()).toHaveLength(1);
    const store = await openNode(url, 'test', 1);
    const left = async (): Promise<number> => {
      const rows = await store.selectFrom('workspace_files').select('path').execute();
      const { rows: files } = await sql`select key from files`.execute(store);
      return rows.length + files.length;
    };
    expect(await left()).toBeGreaterThan(0);
    await within(3 * 3_600_000, clock, async () => (await left()) === 0);
    // Only now: a node that looks for unneeded copies before the run is removed looks again an hour later. Unused copies are kept for a day.
    await within(20 * 3_600_000, clock, async () => (await copies()).length + (await left()) === 0);
  });

  it('include the session of its agent, which continues on another node', async () => {
    const { a, b } = await startNodes({}, { runtimes: undefined as never, exec: 'host' });
    const definition = JSON.stringify({ version: 1, command: misbehaving('remembers') });
    const { agent } = await a.ok('createAgent', { body: { name: 'Agent', build: { name: 'first', config: config(definition, 'acp') } } });
    const { run } = await a.ok('startRun', { body: { agent_id: agent.id, message: 'First' } });
    await a.until(run.id, 'completed');
    const holder = (await readdir(path.join(a.dataDirectory, 'sandboxes')).catch(() => [])).length > 0 ? a : b;
    const other = holder === a ? b : a;
    await holder.service.close();
    await other.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Second' } });
    await other.until(run.id, 'completed');
    expect((await other.texts(run.id)).filter((text) => /^(You|The session)/.test(text))).toEqual([
      'You wrote: First',
      'The session of Misbehaving agent was resumed.',
      'You wrote: First, Second',
    ]);
    expect(await contentOf(other, run.id, 'prompts.txt')).toBe('First\nSecond');
  });

  it('are changed by one node at a time, also if several runs share them', async () => {
    const isBegun = new Gate();
    const gate = new Gate();
    const log: string[] = [];
    const { a, b, url } = await startNodes(
      {
        share: async (host) => {
          log.push(`${host.run.number} begins`);
          if (host.run.number === 1) {
            isBegun.open();
            await gate.opened;
            await host.sandbox.write('first.txt', Buffer.from('1'));
          } else log.push((await host.sandbox.list('')).map(({ name }) => name).join());
          log.push(`${host.run.number} ends`);
          await host.commit('one', null, [], undefined, { status: 'completed' });
          return { status: 'completed' };
        },
      },
      { runConcurrency: 1 },
    );
    const agentId = await a.agent('share');
    const { run: first } = await a.ok('startRun', { body: { agent_id: agentId } });
    await isBegun.opened;
    const { run: second } = await b.ok('startRun', { body: { agent_id: agentId, sandbox_id: String(first.sandbox_id) } });
    const store = await openNode(url, 'test', 1);
    const due = async (): Promise<number> =>
      Number((await store.selectFrom('jobs').select('due_at').where('subject_id', '=', second.id).executeTakeFirstOrThrow()).due_at);
    const firstDue = await due();
    await eventually('the node that is free has left the run alone', async () => log.length > 1 || (await due()) > firstDue);
    gate.open();
    await b.until(second.id, 'completed');
    expect(log).toEqual(['1 begins', '1 ends', '2 begins', 'first.txt', '2 ends']);
  });

  it('are taken from an archive that was uploaded to another node', async () => {
    const { a, b } = await startNodes({
      files: async (host) => {
        await host.sandbox.write('own.txt', (await host.sandbox.read('in/b.txt', 10)).bytes);
        await host.commit(
          'one',
          (await host.sandbox.list('in')).map(({ name }) => name),
          [],
          undefined,
          { status: 'completed' },
        );
        return { status: 'completed' };
      },
    });
    const { sandbox_id } = await a.ok('createSandbox', {});
    const content = { 'in/a.txt': 'a', 'in/b.txt': 'b', 'in/large': 'x'.repeat(200_000) };
    const body = uploadForm('in/a.txt', 'replaced');
    expect(await a.call('uploadSandboxFile', { params: { sandbox_id }, body })).toMatchObject({ status: 201 });
    const answer = await b.call('uploadSandboxArchive', { params: { sandbox_id }, body: tarOf(content) });
    expect(answer.body).toEqual({ files: 3, size_bytes: 200_002 });
    const { files } = await a.ok('listSandboxFiles', { params: { sandbox_id }, query: { path: 'in' } });
    expect(files.map(({ name, size_bytes: size }) => [name, size])).toEqual([
      ['a.txt', 1],
      ['b.txt', 1],
      ['large', 200_000],
    ]);
    const agentId = await a.agent('files');
    const { run } = await a.ok('startRun', { body: { agent_id: agentId, sandbox_id } });
    await a.until(run.id, 'completed');
    for (const api of [a, b]) expect(await contentOf(api, run.id, 'own.txt')).toBe('b');
  });

  it('include its repository, whose changes and patch every node returns', async () => {
    const repository = await newRepository(await temporaryDirectory(), { 'README.md': 'Read me.\n' });
    const { a, b } = await startNodes({
      change: async (host) => {
        await runOnce(host, 'one', () => host.sandbox.write('README.md', Buffer.from('Read this.\n')));
        return { status: 'completed' };
      },
    });
    const agentId = await a.agent('change');
    const { run } = await a.ok('startRun', { body: { agent_id: agentId, repository: { path: repository.folder } } });
    await a.until(run.id, 'completed');
    const changes = await Promise.all([a, b].map((api) => api.ok('getRunChanges', { params: { run_id: run.id } })));
    const files = changes.map(({ data }) => data.files.map(({ path: name, change }) => [name, change]));
    expect(files).toEqual([[['README.md', 'changed']], [['README.md', 'changed']]]);
    // The URL of one node is used on the other one.
    const urls = changes.map(({ data }) => String(data.patch_url)).reverse();
    for (const [index, api] of [a, b].entries()) {
      const patch = await api.send('GET', new URL(String(urls[index])).pathname, { anonymous: true });
      expect([patch.status, patch.text]).toEqual([200, expect.stringContaining('+Read this.')]);
    }
  });

  it('include those of the step during which the run was stopped, through either node', async () => {
    const isWorking = new Gate();
    const { a, b } = await startNodes({
      hang: async (host) => {
        await host.sandbox.write('unfinished.txt', Buffer.from('x'));
        isWorking.open();
        return new Promise((_, reject) => host.signal.addEventListener('abort', () => reject(host.signal.reason)));
      },
    });
    const run = await a.run('hang');
    await isWorking.opened;
    // One of the two requests goes to the node that does not execute the run.
    for (const api of [b, a]) await api.ok('stopRun', { params: { run_id: run.id } });
    for (const api of [a, b]) await eventually('the file is there', async () => (await namesOf(api, run.id)).includes('unfinished.txt'));
  });
});
