/** The files of a run's sandbox: listings, trees, contents, and downloads of whole trees. */
import { mkdir, writeFile as put, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalFolder } from '../../../src/client/transfers/local-files.ts';
import { treeLimits } from '../../../src/client/transfers/local-names.ts';
import { type Pull, pullTree } from '../../../src/client/transfers/pull-tree.ts';
import { listRunFolder, listRunTree, readRunFile, runFileBytes } from '../../../src/client/transfers/run-files.ts';
import { walkRunTree } from '../../../src/client/transfers/walk.ts';
import type { SandboxFileContent } from '../../../src/interface/types.ts';
import { answer, json, noAnswer, partial, type RawServer, type RecordedRequest, reply, type Step } from '../../faults/raw-server.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

const { signal } = new AbortController();
const run = { runId: 'r1' };
const notFound = json(404, { error: 'file_not_found', message: 'There is no such file.' });

/** The folder or file that a request is about. */
const placeOf = (request: RecordedRequest): string => new URL(request.path, 'http://localhost').searchParams.get('path') ?? '';
const places = (server: RawServer): string[] => server.requests.map(placeOf);

/** A response with the entries of a folder; those that end with a slash are folders. */
const listing = (folder: string, entries: readonly string[], sandboxStatus = 'running'): Step =>
  json(200, {
    data: {
      sandboxStatus,
      path: folder,
      entries: entries.map((entry) => ({
        name: path.posix.basename(entry),
        path: entry.replace(/\/$/, ''),
        type: entry.endsWith('/') ? 'directory' : 'file',
        size: 3,
        modified_at: null,
        isTextFile: true,
      })),
    },
  });

const contentOf = (file: string, fields: Partial<SandboxFileContent> = {}): SandboxFileContent => ({
  sandboxStatus: 'running',
  path: file,
  isTextFile: true,
  content: 'abc',
  size: 3,
  ...fields,
});

/** A service with these folders, in which paths that end with a slash are folders, too. */
async function serviceWith(folders: Record<string, readonly string[]>): Promise<RawServer> {
  return (await scriptedServer()).always(
    reply((request) => {
      const entries = folders[placeOf(request)];
      return entries === undefined ? notFound : listing(placeOf(request), entries);
    }),
  );
}

/** Folders that each contain the next one, down to this depth. */
const chain = (depth: number): Record<string, string[]> => {
  const folder = (level: number): string => `/workspace${'/d'.repeat(level)}`;
  return Object.fromEntries(
    Array.from({ length: depth + 1 }, (_, level) => [folder(level), level < depth ? [`${folder(level + 1)}/`] : []]),
  );
};

describe('the files of a run', () => {
  it('are requested from the run, or from the run of an agent', async () => {
    const server = await scriptedServer(
      listing('/workspace', []),
      listing('/workspace', []),
      json(200, { data: contentOf('/workspace/a') }),
      json(200, { data: contentOf('/workspace/a') }),
    );
    const { client } = newClient(server.url);
    await listRunFolder(client, run, '/workspace', signal);
    await listRunFolder(client, { ...run, agentId: 'a1' }, '/workspace', signal);
    await readRunFile(client, run, '/workspace/a', signal);
    await readRunFile(client, { ...run, agentId: 'a1' }, '/workspace/a', signal);
    expect(server.requests.map((request) => new URL(request.path, server.url).pathname)).toEqual([
      '/v2/runs/r1/sandbox/files',
      '/v2/agents/a1/runs/r1/sandbox/files',
      '/v2/runs/r1/sandbox/files/content',
      '/v2/agents/a1/runs/r1/sandbox/files/content',
    ]);
    expect(places(server)).toEqual(['/workspace', '/workspace', '/workspace/a', '/workspace/a']);
  });

  it.each(['running', 'paused'])('are available while the sandbox is %s', async (status) => {
    const file = contentOf('/workspace/a', { sandboxStatus: status as 'running' });
    const server = await scriptedServer(listing('/workspace', ['/workspace/a'], status), json(200, { data: file }));
    const { client } = newClient(server.url);
    expect(await listRunFolder(client, run, '/workspace', signal)).toMatchObject({ entries: [{ path: '/workspace/a' }] });
    expect(await readRunFile(client, run, '/workspace/a', signal)).toEqual(file);
  });

  it('are listed by a service that leaves out the status, and are not without a list', async () => {
    const entries = [{ name: 'a', path: '/workspace/a', type: 'file', size: 1 }];
    const server = await scriptedServer(json(200, { data: { path: '/workspace', entries } }), json(200, { data: { path: '/workspace' } }));
    const { client } = newClient(server.url);
    expect(await listRunFolder(client, run, '/workspace', signal)).toMatchObject({ entries });
    expect(await failureOf(listRunFolder(client, run, '/workspace', signal))).toMatchObject({
      code: 'unusable_answer',
      message: 'The service answered 200 without the list "entries" that this operation returns.',
    });
  });

  it.each([
    ['not_found', { code: 'sandbox_not_found', exit: 3, message: expect.stringContaining('its sandbox was removed') }],
    ['error', { code: 'sandbox_error', exit: 8, message: 'The sandbox has no readable files at /workspace: its status is error.' }],
  ])('are not available when the status of the sandbox is %s', async (status, expected) => {
    const file = contentOf('/workspace', { sandboxStatus: status as 'error' });
    const server = await scriptedServer(listing('/workspace', [], status), json(200, { data: file }));
    const { client } = newClient(server.url);
    expect(await failureOf(listRunFolder(client, run, '/workspace', signal))).toMatchObject(expected);
    expect(await failureOf(readRunFile(client, run, '/workspace', signal))).toMatchObject(expected);
  });
});

describe('the bytes of a file', () => {
  const read = async (server: RawServer, content: SandboxFileContent): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of runFileBytes(newClient(server.url).client, content, { signal })) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };

  it.each<[string, Partial<SandboxFileContent>, string]>([
    ['text', {}, 'abc'],
    ['empty text', { content: '', size: 0 }, ''],
    ['text in base64', { content: 'YWJj', encoding: 'base64' }, 'abc'],
    ['text that could also be downloaded', { download_url: '/files/1', truncated: false }, 'abc'],
  ])('are those in the response if it contains %s', async (_, fields, expected) => {
    const server = await scriptedServer();
    expect(await read(server, contentOf('/workspace/a', fields))).toBe(expected);
    expect(server.connections).toBe(0);
  });

  it.each<[string, Partial<SandboxFileContent>]>([
    ['no text', { content: null }],
    ['text that was cut off', { truncated: true }],
    ['text of another length', { content: 'converted' }],
  ])('are downloaded if the response contains %s', async (_, fields) => {
    const server = await scriptedServer(answer(200, 'xyz'));
    expect(await read(server, contentOf('/workspace/a', { download_url: '/files/1', ...fields }))).toBe('xyz');
    expect(server.requests[0]?.path).toBe('/files/1');
  });

  it('are not accepted in another number than the service reported', async () => {
    const server = await scriptedServer(answer(200, 'wxyz'));
    const expected = { code: 'file_changed', message: 'The file has 4 bytes, not the 3 that the service reported before.' };
    const read4 = read(server, contentOf('/workspace/a', { content: null, download_url: '/files/1' }));
    expect(await failureOf(read4)).toMatchObject(expected);
    expect(await failureOf(read(await scriptedServer(), contentOf('/workspace/a', { content: 'wxyz' })))).toMatchObject(expected);
  });

  it.each<[string, Partial<SandboxFileContent>]>([
    ['The content of /workspace/a is not available.', { content: null }],
    ['The content of /workspace/a is not available.', { truncated: true, download_url: null }],
    ['The content of /workspace/a is not available: It is too large.', { content: null, message: 'It is too large.' }],
  ])('are missing: %s', async (message, fields) => {
    const failurePromise = read(await scriptedServer(), contentOf('/workspace/a', fields));
    expect(await failureOf(failurePromise)).toMatchObject({ code: 'content_unavailable', exit: 3, message });
  });
});

describe('a listed tree', () => {
  it('contains all files in the order of the service, below the path in its spelling', async () => {
    const server = (await scriptedServer()).always(
      reply((request) => {
        const folders: Record<string, readonly string[]> = {
          '/workspace/b': ['/workspace/b/2', '/workspace/b/1'],
        };
        const folder = placeOf(request);
        return folder === 'work' ? listing('/workspace', ['/workspace/b/', '/workspace/a']) : listing('/other', folders[folder] ?? []);
      }),
    );
    expect(await listRunTree(newClient(server.url).client, run, 'work', signal)).toEqual({
      base: '/workspace',
      files: ['/workspace/b/2', '/workspace/b/1', '/workspace/a'].map((file) => ({ path: file, size: 3 })),
    });
  });

  it(`has at most ${treeLimits.depth} levels of folders`, async () => {
    const deep = await serviceWith(chain(treeLimits.depth));
    expect(await listRunTree(newClient(deep.url).client, run, '/workspace', signal)).toMatchObject({ files: [] });
    const deeper = await serviceWith(chain(treeLimits.depth + 1));
    expect(await failureOf(listRunTree(newClient(deeper.url).client, run, '/workspace', signal))).toMatchObject({ code: 'too_deep' });
  });

  it('ends all its requests when one of them fails', async () => {
    const server = await scriptedServer(listing('/workspace', ['/workspace/a/', '/workspace/b/']), noAnswer('stall'), notFound);
    const closures: Promise<unknown>[] = [];
    server.onConnection = (socket) => closures.push(new Promise((resolve) => socket.once('close', resolve)));
    const treeListing = listRunTree(newClient(server.url).client, run, '/workspace', signal);
    expect(await failureOf(treeListing)).toMatchObject({ code: 'file_not_found' });
    const stalledConnection = server.requests[1]?.connection as number;
    await closures[stalledConnection - 1];
  });
});

describe('a walk through a tree', () => {
  const folders = {
    '/workspace': ['/workspace/a/', '/workspace/b', '/workspace/c/'],
    '/workspace/a': ['/workspace/a/1', '/workspace/a/d/'],
    '/workspace/c': ['/workspace/c/1'],
    '/workspace/a/d': ['/workspace/a/d/1'],
  };
  const all = ['a', 'b', 'c', 'a/1', 'a/d', 'c/1', 'a/d/1'];
  const walk = async (server: RawServer, bounds: { entries?: number; depth?: number } = {}, folder = '/workspace') => {
    const { entries = 100, depth } = bounds;
    const result = await walkRunTree(newClient(server.url).client, run, folder, { entries, depth }, signal);
    return { ...result, entries: result.entries.map((entry) => path.posix.relative('/workspace', entry.path)) };
  };

  it.each<[{ entries?: number; depth?: number }, string[], boolean, number]>([
    [{}, all, true, 4],
    [{ entries: 7 }, all, true, 4],
    [{ entries: 6 }, all.slice(0, 6), false, 3],
    [{ entries: 5 }, all.slice(0, 5), false, 3],
    [{ entries: 4 }, all.slice(0, 4), false, 2],
    [{ entries: 3 }, all.slice(0, 3), false, 1],
    [{ entries: 2 }, all.slice(0, 2), false, 1],
    [{ entries: 0 }, [], false, 1],
    [{ depth: 1 }, all.slice(0, 3), false, 1],
    [{ depth: 2 }, all.slice(0, 6), false, 3],
    [{ depth: 3 }, all, true, 4],
  ])('with the bounds %j lists %j', async (bounds, entries, complete, requests) => {
    const server = await serviceWith(folders);
    expect(await walk(server, bounds)).toEqual({ path: '/workspace', entries, complete });
    expect(server.requests).toHaveLength(requests);
  });

  it('is complete if the limit is reached by the last file', async () => {
    const server = await serviceWith({ '/workspace': ['/workspace/a', '/workspace/b'] });
    expect(await walk(server, { entries: 2 })).toMatchObject({ entries: ['a', 'b'], complete: true });
    expect(await walk(server, { entries: 1 })).toMatchObject({ entries: ['a'], complete: false });
    expect(await walk(server, { depth: 1 })).toMatchObject({ entries: ['a', 'b'], complete: true });
  });

  it('is incomplete if folders were left out, even if those that were listed are empty', async () => {
    const empty = { '/workspace/a': [], '/workspace/b': [], '/workspace/c': [] };
    const server = await serviceWith({ '/workspace': Object.keys(empty).map((folder) => `${folder}/`), ...empty });
    expect(await walk(server, { entries: 5 })).toMatchObject({ entries: ['a', 'b', 'c'], complete: false });
    expect(places(server)).toEqual(['/workspace', '/workspace/a', '/workspace/b']);
    expect(await walk(server, { entries: 6 })).toMatchObject({ entries: ['a', 'b', 'c'], complete: true });
  });

  it('has its path in the spelling of the service', async () => {
    const server = await scriptedServer(listing('/workspace', ['/workspace/a/']), listing('/workspace/a', []));
    expect(await walk(server, {}, 'work')).toMatchObject({ path: '/workspace', complete: true });
  });

  it.each<[string, Record<string, readonly string[]>]>([
    ['that contains itself', { '/workspace': ['/workspace/'] }],
    ['that a folder next to another one contains', { '/workspace': ['/workspace/a/'], '/workspace/a': ['/workspace/b/', '/workspace/'] }],
    ['that is too deep', chain(treeLimits.depth + 1)],
  ])('ends at a folder %s', async (_, tree) => {
    expect(await failureOf(walk(await serviceWith(tree)))).toMatchObject({ code: 'too_deep' });
  });

  it(`lists ${treeLimits.depth} levels of folders`, async () => {
    expect(await walk(await serviceWith(chain(treeLimits.depth)))).toMatchObject({ complete: true });
  });
});

describe('a tree that is pulled', () => {
  /** A service that responds to requests for the contents of a file with these steps, one after another. */
  const serviceOf = async (steps: Record<string, Step[]>): Promise<RawServer> =>
    (await scriptedServer()).always(reply((request) => steps[placeOf(request) || request.path]?.shift() ?? notFound));
  const text = (file: string, content: string, size = content.length) =>
    json(200, { data: contentOf(`/workspace/${file}`, { content, size }) });

  async function pullFiles(server: RawServer, files: Pull['files'], options: Partial<Pull> = {}) {
    const folder = await temporaryFolder();
    const pull = { run, files, base: '/workspace', folder: new LocalFolder(folder), replace: false, signal, ...options };
    const { result, error } = await pullTree(newClient(server.url).client, pull).then(
      ({ files: value }) => ({ result: value, error: undefined }),
      (reason: Error) => ({ result: undefined, error: reason }),
    );
    const names = (await readdir(folder, { withFileTypes: true })).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    const written = await Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')]));
    return { result, error, folder, writtenFiles: Object.fromEntries(written) };
  }

  const fileOf = (name: string, content?: SandboxFileContent) => ({
    path: `/workspace/${name}`,
    size: 3,
    ...(content === undefined ? {} : { content }),
  });

  it('reports its files, their bytes, and their progress', async () => {
    const server = await serviceOf({ '/workspace/a': [text('a', 'abc')], '/workspace/b': [text('b', 'de')] });
    const counts = { bytes: 0, files: 0 };
    const { result, folder, writtenFiles } = await pullFiles(server, [fileOf('a'), fileOf('b')], {
      onBytes: (count) => {
        counts.bytes += count;
      },
      onFile: () => {
        counts.files += 1;
      },
    });
    expect(result).toEqual([
      { path: '/workspace/a', target: path.join(folder, 'a'), size: 3 },
      { path: '/workspace/b', target: path.join(folder, 'b'), size: 2 },
    ]);
    expect([writtenFiles, counts]).toEqual([
      { a: 'abc', b: 'de' },
      { bytes: 5, files: 2 },
    ]);
  });

  it.each(['/', '/workspace/', '/workspace'])('has names that are relative to %s', async (base) => {
    const server = await serviceOf({ '/workspace/a': [text('a', 'abc')] });
    const { result, folder } = await pullFiles(server, [fileOf('a')], { base });
    expect(result?.[0]?.target).toBe(path.join(folder, base === '/' ? 'workspace/a' : 'a'));
  });

  it('finds existing files in folders before it writes anything', async () => {
    const server = await serviceOf({ '/workspace/a': [text('a', 'abc')] });
    const local = await temporaryFolder();
    await mkdir(path.join(local, 'd'));
    for (const name of ['d/b', 'd/c']) await put(path.join(local, name), 'mine');
    const { error } = await pullFiles(server, [fileOf('a'), fileOf('d/x'), fileOf('d/c')], { folder: new LocalFolder(local) });
    expect(error).toMatchObject({ code: 'file_exists', message: `${path.join(local, 'd/c')} already exists.` });
    expect(await readdir(local)).toEqual(['d']);
    expect(server.requests).toEqual([]);
  });

  it('rejects names outside its folder before it writes anything', async () => {
    const server = await scriptedServer();
    const { error, writtenFiles } = await pullFiles(server, [fileOf('a', contentOf('/workspace/a')), { path: '/etc/x', size: 1 }]);
    expect([error, writtenFiles]).toEqual([expect.objectContaining({ code: 'unsafe_name' }), {}]);
  });

  it('requests a content only if the service has not just returned it', async () => {
    const server = await serviceOf({});
    const { writtenFiles } = await pullFiles(server, [fileOf('a', contentOf('/workspace/a'))]);
    expect([writtenFiles, server.connections]).toEqual([{ a: 'abc' }, 0]);
  });

  it('requests a file again that changes meanwhile, at most three times', async () => {
    const changing = text('a', 'abcd', 3);
    const first = contentOf('/workspace/a', { content: 'abcd' });
    const server = await serviceOf({ '/workspace/a': [changing, text('a', 'xyz')] });
    expect((await pullFiles(server, [fileOf('a', first)])).writtenFiles).toEqual({ a: 'xyz' });
    const endless = await serviceOf({ '/workspace/a': [changing, changing, changing, changing] });
    const { error, writtenFiles } = await pullFiles(endless, [fileOf('a')]);
    expect(error).toMatchObject({ code: 'file_changed' });
    expect([endless.requests.length, writtenFiles]).toEqual([3, {}]);
  });

  it('does not request a file again after another failure', async () => {
    const server = await serviceOf({});
    const { error } = await pullFiles(server, [fileOf('a')]);
    expect(error).toMatchObject({ code: 'file_not_found', message: 'There is no such file.' });
    expect(server.requests).toHaveLength(1);
  });

  it('reports how many files were written before a failure, and how to continue', async () => {
    const missing = await pullFiles(await serviceOf({}), [fileOf('a', contentOf('/workspace/a')), fileOf('b')]);
    expect(missing.error).toMatchObject({
      code: 'file_not_found',
      exit: 3,
      message: expect.stringMatching(/^There is no such file\. [01] of 2 files are in /),
      hint: expect.stringContaining('run the command again with --force'),
    });
    const brokenResult = await pullFiles(await serviceOf({}), [
      fileOf('a', contentOf('/workspace/a')),
      fileOf('b', contentOf('/workspace/b', { content: 'xy', download_url: 'http://storage.test/' })),
    ]);
    expect(brokenResult.error).toMatchObject({ hint: expect.stringMatching(/Contact the operator of the service\. To get all of them/) });
  });

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const server = await scriptedServer(noAnswer('stall'));
    const reason = new Error('enough');
    const endPromise = pullFiles(server, [fileOf('a'), fileOf('b')], { signal: controller.signal });
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(reason);
    expect((await endPromise).error).toBe(reason);
  });

  it('gets another URL for a file whose URL has expired', async () => {
    const storage = await scriptedServer(
      partial(200, 3, 'a', 'close', { etag: '"v1"' }),
      answer(403, ''),
      answer(200, 'abc', { etag: '"v1"' }),
    );
    const grantFor = (name: string) =>
      json(200, { data: contentOf('/workspace/a', { content: null, download_url: `${storage.url}/${name}` }) });
    const server = await serviceOf({ '/workspace/a': [grantFor('first'), grantFor('second')] });
    expect((await pullFiles(server, [fileOf('a')])).writtenFiles).toEqual({ a: 'abc' });
    expect(storage.requests.map((request) => request.path)).toEqual(['/first', '/first', '/second']);
  });

  it('replaces existing files only if that is allowed', async () => {
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, 'out'));
    await put(path.join(folder, 'out/a'), 'mine');
    const options = { folder: new LocalFolder(path.join(folder, 'out')) };
    const server = await serviceOf({});
    const files = [fileOf('a', contentOf('/workspace/a'))];
    expect((await pullFiles(server, files, options)).error).toMatchObject({ code: 'file_exists' });
    expect((await pullFiles(server, files, { ...options, replace: true })).error).toBeUndefined();
    expect(await readFile(path.join(folder, 'out/a'), 'utf8')).toBe('abc');
  });
});
