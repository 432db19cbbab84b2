/** Uploads of many files: in archives if the service offers that, and otherwise one by one. */
import { mkdir, writeFile as put } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClientOptions } from '../../../src/client/client.ts';
import { directUploadLimit, type LocalUpload } from '../../../src/client/transfers/transfer.ts';
import { archiveGroups } from '../../../src/client/transfers/upload-archive.ts';
import { uploadTree } from '../../../src/client/transfers/upload-tree.ts';
import { json, noAnswer, type RawServer, type RecordedRequest, reply, type Step } from '../../faults/raw-server.ts';
import { untar } from '../../support/tar.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

const { signal } = new AbortController();

/** Local files with these contents, to be uploaded to folders of the same names. */
async function filesOf(contents: Readonly<Record<string, string | Uint8Array>>): Promise<LocalUpload[]> {
  const folder = await temporaryDirectory();
  const uploads: LocalUpload[] = [];
  for (const [name, content] of Object.entries(contents)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await put(file, content);
    uploads.push({ file, size: Buffer.byteLength(content), target: `/workspace/${name}` });
  }
  return uploads;
}

const sixFiles = { 'd/a': 'aaaa', 'd/b': 'bbb', c: '', e: 'eeeee', f: 'ffffff', g: 'g' };

/** The answer of a service to an archive, or to a file. */
const accept = ({ path: target, body }: RecordedRequest): Step => {
  if (!target.endsWith('/archive')) {
    const [, name = ''] = /name="path"\r\n\r\n([^\r]*)/.exec(body.toString('latin1')) ?? [];
    return json(201, { path: name, size_bytes: 0 });
  }
  // A file of an archive has a regular header with its size after an extended one.
  const sizes = [...body.toString('latin1').matchAll(/000000 \0([0-7]{11}) [0-7]{11} [0-7]{6} \0(?=0)/g)].map(([, size]) =>
    Number.parseInt(size as string, 8),
  );
  return json(201, { files: sizes.length, size_bytes: sizes.reduce((sum, size) => sum + size, 0) });
};

async function upload(server: RawServer, files: readonly LocalUpload[], options: Partial<ClientOptions> = {}) {
  const counts = { files: 0, bytes: 0 };
  const result = uploadTree(newClient(server.url, options).client, 's1', files, {
    signal,
    dryRun: false,
    onFiles: (count) => {
      counts.files += count;
    },
    onBytes: (count) => {
      counts.bytes += count;
    },
  });
  return { result: await result, counts };
}

const pathsOf = (server: RawServer): string[] => server.requests.map((request) => request.path.replace('/v2/sandboxes/s1/', ''));
const resultOf = (files: readonly LocalUpload[]) => files.map(({ target, size }) => ({ path: target, size_bytes: size }));

describe('an upload of many files', () => {
  it('takes two requests: one with the smallest file, and one with all others', async () => {
    const files = await filesOf(sixFiles);
    const server = (await scriptedServer()).always(reply(accept));
    const { result, counts } = await upload(server, files);
    expect(result).toEqual(resultOf(files));
    expect(counts).toEqual({ files: 6, bytes: 19 });
    expect(pathsOf(server)).toEqual(['files/archive', 'files/archive']);
    expect(server.header('content-type')).toEqual(['application/x-tar', 'application/x-tar']);
    const archives = await Promise.all(server.requests.map(({ body }) => untar(body)));
    expect(archives[0]).toEqual([{ path: '/workspace/c', text: '', isIntact: true }]);
    expect(archives[1]).toEqual(
      ['d/a', 'd/b', 'e', 'f', 'g'].map((name) => ({
        path: `/workspace/${name}`,
        text: sixFiles[name as keyof typeof sixFiles],
        isIntact: true,
      })),
    );
    expect(new Set(server.header('idempotency-key')).size).toBe(2);
  });

  it.each([
    [{ files: 2, size_bytes: 0 }, 'files'],
    [{ files: 1, size_bytes: 7 }, 'size_bytes'],
  ])('fails if the service has received something else: %j', async (received, field) => {
    const files = await filesOf(sixFiles);
    const server = (await scriptedServer()).always(json(201, received));
    expect(await failureOf(upload(server, files))).toMatchObject({ message: expect.stringMatching(new RegExp(`\\b${field}\\b`)) });
  });

  it('reports the paths as the service spells them', async () => {
    const files = (await filesOf(sixFiles)).map((file) => ({ ...file, target: `./in/${path.basename(file.file)}` }));
    const server = (await scriptedServer()).always(reply(accept));
    expect((await upload(server, files)).result[0]).toEqual({ path: '/workspace/in/a', size_bytes: 4 });
  });

  it('sends the same bytes under the same keys again, also from another process', async () => {
    const files = await filesOf(sixFiles);
    const server = (await scriptedServer(noAnswer('reset'), json(503, { error: 'x', message: 'x' }))).always(reply(accept));
    await upload(server, files, { idempotencyKey: 'one' });
    await upload(server, files, { idempotencyKey: 'one' });
    const sent = server.requests.map(({ body, headers }) => `${String(headers['idempotency-key'])} ${body.toString('base64')}`);
    expect(new Set(sent.slice(0, 3)).size).toBe(1);
    expect(sent.slice(-2)).toEqual([sent[0], sent[3]]);
  });

  it.each([
    ['does not know the route', json(404, { error: 'route_not_found', message: 'x' })],
    ['does not know it in its own words', json(404, { error: 'not_found', message: 'x' })],
    ['does not know the method', json(405, { error: 'x', message: 'x' })],
    ['has not implemented it', json(501, { error: 'x', message: 'x' })],
  ])('sends one file after another if the service %s, after a single request', async (_, step) => {
    const files = await filesOf(sixFiles);
    const server = (await scriptedServer(step)).always(reply(accept));
    const { result, counts } = await upload(server, files);
    expect(result.map((file) => file.path)).toEqual(files.map(({ target }) => target));
    expect(counts.files).toBe(6);
    expect(pathsOf(server)).toEqual(['files/archive', ...files.map(() => 'files')]);
  });

  it('sends the files of an archive one by one if it is too large for something on the way', async () => {
    const files = await filesOf(sixFiles);
    const server = (await scriptedServer(reply(accept), json(413, { error: 'x', message: 'x' }))).always(reply(accept));
    const { counts } = await upload(server, files);
    expect(counts.files).toBe(6);
    expect(pathsOf(server)).toEqual(['files/archive', 'files/archive', ...Array.from({ length: 5 }, () => 'files')]);
  });

  it('fails if the sandbox does not exist, an archive is refused, or not all files were written', async () => {
    const files = await filesOf(sixFiles);
    const missing = await scriptedServer(json(404, { error: 'sandbox_not_found', message: 'x' }));
    expect(await failureOf(upload(missing, files))).toMatchObject({ code: 'sandbox_not_found', exit: 3 });
    const refusing = await scriptedServer(reply(accept), json(400, { error: 'not_a_file', message: 'x' }));
    expect(await failureOf(upload(refusing, files))).toMatchObject({ code: 'not_a_file' });
    const incomplete = await scriptedServer(json(201, { files: 0, size_bytes: 0 }));
    expect(await failureOf(upload(incomplete, files))).toMatchObject({ code: 'unusable_answer' });
    const wrongSize = await scriptedServer(json(201, { files: 1, size_bytes: 9 }));
    expect(await failureOf(upload(wrongSize, files))).toMatchObject({ code: 'unusable_answer' });
    expect([missing, refusing, incomplete, wrongSize].map((server) => server.requests.length)).toEqual([1, 2, 1, 1]);
  });

  it.each([
    ['grown', 'eeeee, more'],
    ['become shorter', 'e'],
  ])('fails if a file has %s since it was listed', async (_, content) => {
    const files = await filesOf(sixFiles);
    await put((files[3] as LocalUpload).file, content);
    const server = (await scriptedServer()).always(reply(accept));
    expect(await failureOf(upload(server, files))).toMatchObject({
      exit: 2,
      message: expect.stringContaining('changed while it was uploaded'),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('sends few files, and large files, by themselves', async () => {
    const few = await filesOf({ a: 'a', b: 'b', c: 'c', d: 'd' });
    const server = (await scriptedServer()).always(reply(accept));
    await upload(server, few);
    expect(pathsOf(server)).toEqual(['files', 'files', 'files', 'files']);
    const mixed = await filesOf({ ...sixFiles, large: Buffer.alloc(directUploadLimit + 1) });
    const refusing = (await scriptedServer()).always(
      reply((request) => (request.path.endsWith('upload-urls') ? json(403, { error: 'x', message: 'x' }) : accept(request))),
    );
    expect(await failureOf(upload(refusing, mixed))).toMatchObject({ exit: 5 });
    expect(pathsOf(refusing)).toEqual(['files/archive', 'files/archive', 'upload-urls']);
  });
});

describe('the groups of files', () => {
  const group = (sizes: readonly number[]) =>
    archiveGroups(sizes.map((size, index) => ({ file: String(index), size, target: `/workspace/${index}` }))).map((files) =>
      files.map(({ file }) => Number(file)),
    );

  it('begin with the smallest file, keep the order, and are limited in bytes and in number', () => {
    expect(group([3, 1, 2, 1])).toEqual([[1], [0, 2, 3]]);
    expect(group([5])).toEqual([[0]]);
    expect(group([3_000_000, 1, 2_000_000, 9_000_000, 1_000_000, 2_900_000])).toEqual([[1], [0], [2], [3], [4, 5]]);
    const many = group(Array.from({ length: 12_000 }, () => 0));
    expect(many.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 12_000 }, (_, index) => index));
    expect(Math.max(...many.map((files) => files.length))).toBeLessThanOrEqual(5_000);
  });
});
