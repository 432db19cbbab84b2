/** Forms with files: read piece by piece, wherever the pieces are cut. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, readdir } from 'node:fs/promises';
import path from 'node:path';
import { request } from 'undici';
import { describe, expect, it, vi } from 'vitest';
import { MultipartReader, type PartContent, type PartHead } from '../../../src/service/http/multipart.ts';
import { eventually } from '../../support/eventually.ts';
import { afterTest } from '../../support/temporary.ts';
import { fileHandles } from '../helpers/disk.ts';
import { auth, dial } from '../helpers/raw.ts';
import { type Api, startApi } from '../helpers/service.ts';

type Part = [name: string, isFile: boolean, content: string];

/** The parts of a body that comes in pieces of a length; content is compared byte for byte. */
async function partsOf(body: string | Buffer, boundary: string, length: number): Promise<Part[]> {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
  const reader = await MultipartReader.open(`multipart/form-data; boundary=${boundary}`);
  const parts = new Map<PartHead, string>();
  const keep = (contents: PartContent[]) => {
    for (const [part, content] of contents) parts.set(part, (parts.get(part) ?? '') + content.toString('latin1'));
  };
  for (let offset = 0; offset < bytes.length; offset += length) keep(await reader.read(bytes.subarray(offset, offset + length)));
  keep(await reader.end());
  return [...parts].map(([{ name, isFile }, content]) => [name, isFile, content]);
}

/** The same, however the body is cut. */
async function expectParts(body: string | Buffer, boundary: string, expected: Part[]): Promise<void> {
  for (const length of [1, 2, 3, 5, 7, 11, 16, 64, 1_000, body.length])
    expect(await partsOf(body, boundary, length), `pieces of ${length}`).toEqual(expected);
}

const disposition = (parameters: string): string => `Content-Disposition: form-data; ${parameters}`;

describe('a form', () => {
  it('is read as FormData writes it', async () => {
    const form = new FormData();
    form.append('path', 'Rechnung "ä"\r\n.txt');
    form.append('a "b"\n', '');
    form.append('file', new File([Buffer.from([0, 13, 10, 45, 45, 255])], '"; name="x'), 'quo"te; name="path".bin');
    const response = new Response(form);
    const body = Buffer.from(await response.clone().arrayBuffer());
    const [, boundary = ''] = /boundary=(.*)/.exec(response.headers.get('content-type') ?? '') ?? [];
    await expectParts(body, boundary, [
      ['path', false, Buffer.from('Rechnung "ä"\r\n.txt').toString('latin1')],
      ['a "b"\r\n', false, ''],
      ['file', true, '\x00\r\n--\xff'],
    ]);
  });

  it('may have a boundary of one character, and text before and after it', async () => {
    const body = `Before\r\n-x\r\n--x\r\n${disposition('name=a')}\r\n\r\n1\r\n--x\r\ncontent-disposition:form-data;filename="";name="b"\r\n\r\n\r\n--x--\r\n--x\r\nAfter`;
    await expectParts(body, 'x', [
      ['a', false, '1'],
      ['b', true, ''],
    ]);
  });

  it('can contain text that begins like a boundary', async () => {
    const content = '\r\n--bound\r\n-\r--boundar\r\n\r\n--\r\n--boundarX--\r';
    const body = `--boundary\r\n${disposition('name="file"; filename*=UTF-8\'\'%e2%82%ac')}\r\nContent-Type: a/b\r\n\r\n${content}\r\n--boundary--`;
    await expectParts(body, 'boundary', [['file', true, content]]);
  });

  it('is read the same wherever it is split', async () => {
    const body = `--x\r\n${disposition('name="path"')}\r\n\r\na\r\n-\r\n--\r\n--x\r\n${disposition('name="file"; filename="ä"')}\r\nContent-Type: a/b\r\n\r\n\r\n\r\n--x--\r\n`;
    const expected = await partsOf(body, 'x', body.length);
    expect(expected).toEqual([
      ['path', false, 'a\r\n-\r\n--'],
      ['file', true, '\r\n'],
    ]);
    for (let length = 1; length < body.length; length++) expect(await partsOf(body, 'x', length), `pieces of ${length}`).toEqual(expected);
  });

  it('buffers no more of a chunk than could be the beginning of a boundary', async () => {
    const reader = await MultipartReader.open('multipart/form-data; boundary=b');
    const contents = await reader.read(Buffer.from(`--b\r\n${disposition('name="f"')}\r\n\r\n${'x'.repeat(1_000)}`));
    expect(contents.reduce((size, [, { length }]) => size + length, 0)).toBeGreaterThan(990);
  });

  it('has its boundary in the content type', async () => {
    const parts = async (type: string | undefined, boundary: string) => {
      const reader = await MultipartReader.open(type);
      const contents = await reader.read(Buffer.from(`--${boundary}\r\n${disposition('name=a')}\r\n\r\n1\r\n--${boundary}--`));
      return [...contents, ...(await reader.end())].map(([{ name }, bytes]) => name + bytes).join();
    };
    expect(await parts('multipart/form-data; charset=utf-8; BOUNDARY=abc', 'abc')).toBe('a,a1');
    expect(await parts('Multipart/Form-Data;boundary="a b;c"', 'a b;c')).toBe('a,a1');
    for (const type of [undefined, 'text/plain; boundary=x', 'multipart/form-database; boundary=x'])
      await expect(parts(type, 'x'), type).rejects.toMatchObject({ status: 400, message: expect.stringContaining('must be multipart') });
    for (const type of [
      '',
      '; boundary',
      '; boundary=',
      '; boundary=""',
      '; boundary="x',
      '; a="; boundary=x;"',
      `; boundary=${'x'.repeat(71)}`,
      '; boundary=ä',
    ])
      await expect(parts(`multipart/form-data${type}`, ''), type).rejects.toThrow(/could not be read/);
    await expect(parts('multipart/form-data; boundary=y', 'x')).rejects.toThrow(/could not be read/);
  });

  it('is refused if it is invalid or incomplete', async () => {
    const head = `--x\r\n${disposition('name="a"')}\r\n`;
    const brokenBodies = [
      '',
      'junk',
      '--x',
      '--x-',
      head,
      `${head}\r\n1`,
      `${head}\r\n${'1'.repeat(300_000)}`,
      `${head}\r\n1\r\n--x`,
      `${head}\r\n1\r\n--xy--`,
      `${head}\r\n1\r\n--x- \r\n`,
      `--x\r\n${disposition('filename="a"')}\r\n\r\n1\r\n--x--`,
      `--x\r\nX: ${'y'.repeat(200_000)}\r\n`,
    ];
    for (const body of brokenBodies)
      for (const length of [7, 100_000])
        await expect(partsOf(body, 'x', length), JSON.stringify(body.slice(0, 80))).rejects.toThrow(/could not be read/);
  });

  it.each([
    ['no headers', ''],
    ['another disposition', 'Content-Disposition: attachment; name="a"\r\n'],
    ['headers that are none', ';\r\n'],
    ['more headers than are read', `X: ${'y'.repeat(20_000)}\r\n${disposition('name="a"')}\r\n`],
  ])('leaves out a part with %s, however large it is, and wherever', async (_, headers) => {
    for (const size of [0, 1, 100_000]) {
      const skippedPart = `--x\r\n${headers}\r\n${'z'.repeat(size)}\r\n`;
      const validPart = `--x\r\n${disposition('name="a"')}\r\n\r\n1\r\n`;
      for (const length of [11, 65_536, 1_000_000]) {
        expect(await partsOf(`${skippedPart}--x--`, 'x', length)).toEqual([]);
        expect(await partsOf(`${skippedPart}${validPart}${skippedPart}--x--`, 'x', length)).toEqual([['a', false, '1']]);
      }
    }
  });

  it('is read as bytes, whatever its headers specify', async () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty'];
    const types = [
      'text/plain; charset',
      'text/plain; charset=base64',
      'text/plain; charset=unheard-of',
      'application/octet-stream',
      '; ;=',
    ];
    const extraHeaders = names.map((name) => `${name}: x\r\n`).join('');
    for (const type of types) {
      const part = (name: string) => `--x\r\n${extraHeaders}Content-Type: ${type}\r\n${disposition(`name=${name}`)}\r\n\r\n\xff\r\n`;
      const file = `--x\r\n${disposition("name=f; filename*=unheard-of''%41%ff")}\r\nContent-Transfer-Encoding: base64\r\n\r\n\xff\r\n`;
      await expectParts(`${names.map(part).join('')}${file}--x--`, 'x', [
        ...names.map((name): Part => [name, false, '\xff']),
        ['f', true, '\xff'],
      ]);
    }
  });
});

describe('an upload as a form', () => {
  const upload = async (api: Api, sandboxId: string, fields: [string, string | Buffer][], headers: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of fields) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, new File([value], 'x.bin'));
    }
    return api.call('uploadSandboxFile', { params: { sandbox_id: sandboxId }, body: form, headers });
  };
  /** The content of a file in the sandbox of a run. */
  const bytesOf = async (api: Api, run_id: string, name: string): Promise<Buffer> => {
    const { data } = await api.ok('getRunSandboxFileContent', { params: { run_id }, query: { path: name } });
    // Short texts are in the response itself.
    if (data.download_url == null) return Buffer.from(data.content ?? '');
    return Buffer.from(await (await request(data.download_url)).body.arrayBuffer());
  };
  const errorOf = ({ status, body }: { status: number; body: unknown }) => [status, (body as { error: string }).error];

  it('stores files of any size completely, and leaves nothing else behind', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id } });
    await api.until(run.id, 'completed');
    const otherFolders = async () => (await readdir(path.join(api.dataDirectory, 'sandboxes'))).filter((name) => name !== sandbox_id);
    for (const size of [0, 1, 65_536, 256 * 1024, 256 * 1024 + 1, 10 * 1024 * 1024]) {
      const bytes = randomBytes(size);
      const answer = await upload(api, sandbox_id, [
        ['file', bytes],
        ['path', 'a.bin'],
      ]);
      expect([answer.status, answer.body]).toEqual([201, { path: '/workspace/a.bin', size_bytes: size }]);
      expect((await bytesOf(api, run.id, 'a.bin')).equals(bytes)).toBe(true);
      expect(await otherFolders()).toEqual([]);
    }
    const largeAnswer = await upload(api, sandbox_id, [
      ['path', 'new/b.bin'],
      ['file', Buffer.alloc(10 * 1024 * 1024 + 1)],
    ]);
    expect(errorOf(largeAnswer)).toEqual([413, 'file_too_large']);
    const largerAnswer = await upload(api, sandbox_id, [
      ['path', 'new/b.bin'],
      ['file', Buffer.alloc(11 * 1024 * 1024)],
    ]);
    expect(errorOf(largerAnswer)).toEqual([413, 'body_too_large']);
    const { files } = await api.ok('listSandboxFiles', { params: { sandbox_id } });
    expect(files.map(({ name }) => name)).toEqual(['a.bin']);
    expect(await otherFolders()).toEqual([]);
  });

  it('is the same request only with the same bytes, even if it was rejected', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const send = (key: string, content: string, type = 'multipart/form-data; boundary=x') =>
      api.send('POST', `/v2/sandboxes/${sandbox_id}/files`, {
        headers: { 'content-type': type, 'idempotency-key': key },
        body: `--x\r\n${disposition('name="path"')}\r\n\r\na\r\n--x\r\n${disposition('name="file"; filename="f"')}\r\n\r\n${content}`,
      });
    const replayOf = (answer: Awaited<ReturnType<typeof send>>) => [answer.status, answer.headers['idempotency-replayed']];
    const largeText = 'x'.repeat(1_000_000);
    expect(replayOf(await send('good', `${largeText}\r\n--x--`))).toEqual([201, undefined]);
    expect(replayOf(await send('good', `${largeText}\r\n--x--`))).toEqual([201, 'true']);
    expect(errorOf(await send('good', `${largeText}y\r\n--x--`))).toEqual([400, 'idempotency_key_reused']);
    // What follows the form is part of the request, too.
    expect(errorOf(await send('good', `${largeText}\r\n--x--\r\n`))).toEqual([400, 'idempotency_key_reused']);
    expect(replayOf(await send('cut-off', largeText))).toEqual([400, undefined]);
    expect(replayOf(await send('cut-off', largeText))).toEqual([400, 'true']);
    expect(replayOf(await send('no-form', largeText, 'text/plain'))).toEqual([400, undefined]);
    expect(replayOf(await send('no-form', largeText, 'text/plain'))).toEqual([400, 'true']);
    expect(errorOf(await send('no-form', `${largeText}y`, 'text/plain'))).toEqual([400, 'idempotency_key_reused']);
  });

  it("gives back its place on the disk when its client leaves in the middle, which is nobody's failure", async () => {
    const messages: string[] = [];
    const api = await startApi({ log: ({ message }) => messages.push(message) });
    const { sandbox_id } = await api.ok('createSandbox');
    const handles = await fileHandles();
    const { writeFile } = handles;
    const file = new Promise<FileHandle>((resolve) => {
      const spy = vi.spyOn(handles, 'writeFile').mockImplementation(async function (this: FileHandle, data) {
        await writeFile.call(this, data);
        resolve(this);
      });
      afterTest(() => spy.mockRestore());
    });
    const socket = await dial(api);
    socket.write(`POST /v2/sandboxes/${sandbox_id}/files HTTP/1.1\r\n${auth(api)}Content-Length: 9000000\r\n`);
    socket.write('Content-Type: multipart/form-data; boundary=x\r\n\r\n');
    socket.write(`--x\r\n${disposition('name="file"; filename="f"')}\r\n\r\n${'1'.repeat(1_000_000)}`);
    const { fd } = await file;
    expect(fd).toBeGreaterThan(0);
    socket.destroy();
    await eventually('the file is closed', async () => (await file).fd === -1);
    expect(
      (
        await upload(api, sandbox_id, [
          ['path', 'a'],
          ['file', Buffer.from('1')],
        ])
      ).status,
    ).toBe(201);
    expect(messages).not.toContain('a request failed');
  });

  it('is limited in its number of parts and its text', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const file: [string, Buffer] = ['file', Buffer.from('1')];
    const parts = (count: number) => Array.from({ length: count }, (_, index): [string, string] => ['path', `p${index}`]);
    expect((await upload(api, sandbox_id, [file, ...parts(15)])).body).toMatchObject({ path: '/workspace/p14' });
    const manyAnswer = await upload(api, sandbox_id, [file, ...parts(16)]);
    expect([...errorOf(manyAnswer), (manyAnswer.body as unknown as { message: string }).message]).toEqual([
      400,
      'invalid_request',
      expect.stringContaining('16 parts'),
    ]);
    const longAnswer = await upload(api, sandbox_id, [file, ['path', 'x'.repeat(40_000)], ['more', 'x'.repeat(40_000)]]);
    expect([...errorOf(longAnswer), (longAnswer.body as unknown as { message: string }).message]).toEqual([
      400,
      'invalid_request',
      expect.stringContaining('65536 bytes of text'),
    ]);
  });
});
