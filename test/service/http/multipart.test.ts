/** Forms with files: read piece by piece, wherever the pieces are cut. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { boundaryOf, MultipartReader } from '../../../src/service/http/multipart.ts';
import { type Api, started } from '../helpers/service.ts';

type Part = [name: string, isFile: boolean, content: string];

/** The parts of a body that comes in pieces of a length; content is compared byte for byte. */
function partsOf(body: string | Buffer, boundary: string, length: number): Part[] {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
  const reader = new MultipartReader(boundary);
  const parts: Part[] = [];
  for (let at = 0; at < bytes.length; at += length) {
    for (const found of reader.read(bytes.subarray(at, at + length))) {
      if ('isFile' in found) parts.push([found.name, found.isFile, '']);
      else (parts.at(-1) as Part)[2] += found.toString('latin1');
    }
  }
  reader.end();
  return parts;
}

/** The same, however the body is cut. */
function expectParts(body: string | Buffer, boundary: string, expected: Part[]): void {
  for (const length of [1, 2, 3, 5, 7, 11, 16, 64, 1_000, body.length])
    expect(partsOf(body, boundary, length), `pieces of ${length}`).toEqual(expected);
}

const disposition = (rest: string): string => `Content-Disposition: form-data; ${rest}`;

describe('a form', () => {
  it('is what FormData writes', async () => {
    const form = new FormData();
    form.append('path', 'Rechnung "ä"\r\n.txt');
    form.append('a "b"\n', '');
    form.append('file', new File([Buffer.from([0, 13, 10, 45, 45, 255])], '"; name="x'), 'quo"te; name="path".bin');
    const response = new Response(form);
    const body = Buffer.from(await response.clone().arrayBuffer());
    expectParts(body, boundaryOf(response.headers.get('content-type') ?? undefined), [
      ['path', false, Buffer.from('Rechnung "ä"\r\n.txt').toString('latin1')],
      ['a "b"\r\n', false, ''],
      ['file', true, '\x00\r\n--\xff'],
    ]);
  });

  it('may have a boundary of one character, text before and after it, and blanks behind its boundaries', () => {
    const body = `Before\r\n-x\r\n--x \t\r\n${disposition('name=a')}\r\n\r\n1\r\n--x\r\ncontent-disposition:form-data;filename="";name="b"\r\n\r\n\r\n--x--\r\n--x\r\nAfter`;
    expectParts(body, 'x', [
      ['a', false, '1'],
      ['b', true, ''],
    ]);
  });

  it('may hold what looks like a boundary for a while', () => {
    const content = '\r\n--bound\r\n-\r--boundar\r\n\r\n--\r\n--boundarX--\r';
    const body = `--boundary\r\n${disposition('name="file"; filename*=UTF-8\'\'%e2%82%ac')}\r\nContent-Type: a/b\r\n\r\n${content}\r\n--boundary--`;
    expectParts(body, 'boundary', [['file', true, content]]);
  });

  it('keeps no more of a piece than may be the beginning of a boundary', () => {
    const reader = new MultipartReader('b');
    const pieces = [...reader.read(Buffer.from(`--b\r\n${disposition('name="f"')}\r\n\r\n${'x'.repeat(1_000)}`))];
    expect((pieces[1] as Buffer).length).toBeGreaterThan(990);
  });

  it('says its boundary in the content type', () => {
    expect(boundaryOf('multipart/form-data; charset=utf-8; BOUNDARY=abc')).toBe('abc');
    expect(boundaryOf('Multipart/Form-Data;boundary="a b;c"')).toBe('a b;c');
    for (const type of [undefined, 'text/plain; boundary=x', 'multipart/form-data', `multipart/form-data; boundary=${'x'.repeat(71)}`])
      expect(() => boundaryOf(type), type).toThrow(/multipart/);
  });

  it('is refused when it is none, or not all of it', () => {
    const head = `--x\r\n${disposition('name="a"')}\r\n`;
    const broken = [
      '',
      'junk',
      '--x',
      '--x-',
      head,
      `${head}\r\n1`,
      `${head}\r\n1\r\n--x`,
      `${head}\r\n1\r\n--xy--`,
      `${head}\r\n1\r\n--x- \r\n`,
      '--x\r\n\r\n1\r\n--x--',
      `--x\r\n${disposition('filename="a"')}\r\n\r\n1\r\n--x--`,
      '--x\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--x--',
      `--x\r\nX: ${'y'.repeat(20_000)}\r\n${disposition('name="a"')}\r\n\r\n1\r\n--x--`,
      `--x${' '.repeat(20_000)}\r\n${disposition('name="a"')}\r\n\r\n1\r\n--x--`,
    ];
    for (const body of broken)
      for (const length of [7, 100_000])
        expect(() => partsOf(body, 'x', length), JSON.stringify(body.slice(0, 80))).toThrow(/could not be read/);
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
  const errorOf = ({ status, body }: { status: number; body: unknown }) => [status, (body as { error: string }).error];

  it('brings files of any size whole, and leaves nothing else behind', async () => {
    const api = await started();
    const { sandbox_id } = await api.ok('createSandbox');
    const folder = path.join(api.dataDirectory, 'sandboxes');
    for (const size of [0, 1, 65_536, 256 * 1024, 256 * 1024 + 1, 10 * 1024 * 1024]) {
      const bytes = randomBytes(size);
      const answer = await upload(api, sandbox_id, [
        ['file', bytes],
        ['path', 'a.bin'],
      ]);
      expect([answer.status, answer.body]).toEqual([201, { path: '/workspace/a.bin', size_bytes: size }]);
      expect((await readFile(path.join(folder, sandbox_id, 'workspace/a.bin'))).equals(bytes)).toBe(true);
      expect(await readdir(folder)).toEqual([sandbox_id]);
    }
    const large = await upload(api, sandbox_id, [
      ['path', 'new/b.bin'],
      ['file', Buffer.alloc(10 * 1024 * 1024 + 1)],
    ]);
    expect(errorOf(large)).toEqual([413, 'file_too_large']);
    const larger = await upload(api, sandbox_id, [
      ['path', 'new/b.bin'],
      ['file', Buffer.alloc(11 * 1024 * 1024)],
    ]);
    expect(errorOf(larger)).toEqual([413, 'body_too_large']);
    const { files } = await api.ok('listSandboxFiles', { params: { sandbox_id } });
    expect(files.map(({ name }) => name)).toEqual(['a.bin']);
    expect(await readdir(folder)).toEqual([sandbox_id]);
  });

  it('is the same request only with the same bytes, also where it was refused', async () => {
    const api = await started();
    const { sandbox_id } = await api.ok('createSandbox');
    const send = (key: string, content: string, type = 'multipart/form-data; boundary=x') =>
      api.send('POST', `/v2/sandboxes/${sandbox_id}/files`, {
        headers: { 'content-type': type, 'idempotency-key': key },
        body: `--x\r\n${disposition('name="path"')}\r\n\r\na\r\n--x\r\n${disposition('name="file"; filename="f"')}\r\n\r\n${content}`,
      });
    const replayed = (answer: Awaited<ReturnType<typeof send>>) => [answer.status, answer.headers['idempotency-replayed']];
    const large = 'x'.repeat(1_000_000);
    expect(replayed(await send('good', `${large}\r\n--x--`))).toEqual([201, undefined]);
    expect(replayed(await send('good', `${large}\r\n--x--`))).toEqual([201, 'true']);
    expect(errorOf(await send('good', `${large}y\r\n--x--`))).toEqual([400, 'idempotency_key_reused']);
    // What follows the form is part of the request, too.
    expect(errorOf(await send('good', `${large}\r\n--x--\r\n`))).toEqual([400, 'idempotency_key_reused']);
    expect(replayed(await send('cut-off', large))).toEqual([400, undefined]);
    expect(replayed(await send('cut-off', large))).toEqual([400, 'true']);
    expect(replayed(await send('no-form', large, 'text/plain'))).toEqual([400, undefined]);
    expect(replayed(await send('no-form', large, 'text/plain'))).toEqual([400, 'true']);
    expect(errorOf(await send('no-form', `${large}y`, 'text/plain'))).toEqual([400, 'idempotency_key_reused']);
  });

  it('has few parts, and little text', async () => {
    const api = await started();
    const { sandbox_id } = await api.ok('createSandbox');
    const file: [string, Buffer] = ['file', Buffer.from('1')];
    const parts = (count: number) => Array.from({ length: count }, (_, index): [string, string] => ['path', `p${index}`]);
    expect((await upload(api, sandbox_id, [file, ...parts(15)])).body).toMatchObject({ path: '/workspace/p14' });
    const many = await upload(api, sandbox_id, [file, ...parts(16)]);
    expect([...errorOf(many), (many.body as unknown as { message: string }).message]).toEqual([
      400,
      'invalid_request',
      expect.stringContaining('16 parts'),
    ]);
    const long = await upload(api, sandbox_id, [file, ['path', 'x'.repeat(40_000)], ['more', 'x'.repeat(40_000)]]);
    expect([...errorOf(long), (long.body as unknown as { message: string }).message]).toEqual([
      400,
      'invalid_request',
      expect.stringContaining('65536 bytes of text'),
    ]);
  });
});
