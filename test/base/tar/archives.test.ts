/** Archives of plain files: other programs can read them, and damaged or ambiguous ones are rejected. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileHead, paddingAfter, tarEnd } from '../../../src/base/tar/heads.ts';
import { InvalidArchiveError, readTarFiles } from '../../../src/base/tar/reader.ts';
import { extendedHeader, paxRecord, sizeField, tarHeader, tarPadding, typeField, withField } from '../../service/backup/tar-bytes.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

interface Whole {
  path: string;
  sha256?: string | undefined;
  content: Uint8Array;
}

const pack = (files: readonly Whole[]): Buffer =>
  Buffer.concat([
    ...files.flatMap(({ content, ...file }) => [
      fileHead({ ...file, size: content.length }),
      content,
      Buffer.alloc(paddingAfter(content.length)),
    ]),
    tarEnd,
  ]);

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function unpack(bytes: Buffer, size = 1_000): Promise<Whole[]> {
  const files: Whole[] = [];
  for await (const file of readTarFiles(inPieces(bytes, size))) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.content) chunks.push(Uint8Array.from(chunk));
    const content = Buffer.concat(chunks);
    expect(content.length).toBe(file.size);
    files.push({ path: file.path, sha256: file.sha256, content: new Uint8Array(content) });
  }
  return files;
}

const file: Whole = { path: 'file', content: new Uint8Array(700).fill(1) };
const headOf = ({ path: name, content }: Whole) =>
  tarHeader({ name, type: 'file', size: content.length, mode: 0o600, modifiedAt: 1_700_000_000 });
const entry = (head: Buffer, { content }: Whole = file): Buffer => Buffer.concat([head, content, tarPadding(content.length)]);
const refusal = (message: RegExp) => expect.objectContaining({ message: expect.stringMatching(message) });

describe('an archive', () => {
  it('contains what was written, read in pieces of any size', async () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).map((text) => text.replaceAll('\0', '_'));
    const anyFile = fc.record({
      path: name,
      sha256: fc.option(fc.constant('a'.repeat(64)), { nil: undefined }),
      content: fc.uint8Array({ maxLength: 2_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyFile, { maxLength: 5 }), fc.integer({ min: 1, max: 5_000 }), async (files, size) => {
        expect(await unpack(pack(files), size)).toEqual(files.map((whole) => ({ ...whole, sha256: whole.sha256 })));
      }),
      { numRuns: 60 },
    );
  });

  it('can be read by tar, with long names and names in other scripts', async () => {
    const folder = await temporaryDirectory();
    const files = [
      { path: 'plain.txt', content: Buffer.from('plain') },
      { path: `${'folder/'.repeat(30)}long.txt`, content: Buffer.alloc(1_000, 'long') },
      { path: 'übung/日本.txt', content: Buffer.alloc(0), sha256: createHash('sha256').digest('hex') },
    ];
    execFileSync('tar', ['x', '--warning=no-unknown-keyword', '-C', folder], { input: pack(files) });
    for (const { path: name, content } of files) expect(await readFile(path.join(folder, name))).toEqual(content);
  });

  it('can be written by tar in the formats of POSIX; folders are skipped', async () => {
    const folder = await temporaryDirectory();
    const write = async (name: string): Promise<void> => {
      await mkdir(path.join(folder, path.dirname(name)), { recursive: true });
      await writeFile(path.join(folder, name), 'content');
    };
    const content = new Uint8Array(Buffer.from('content'));
    const longName = `pax/${'n'.repeat(120)}/${'ü'.repeat(60)}`;
    await write(longName);
    const pax = execFileSync('tar', ['c', '--format', 'posix', '-C', folder, 'pax']);
    expect(await unpack(pax)).toEqual([{ path: longName, sha256: undefined, content }]);
    const splitName = `ustar/${'n'.repeat(90)}/${'m'.repeat(60)}`;
    await write(splitName);
    const ustar = execFileSync('tar', ['c', '--format', 'ustar', '-C', folder, 'ustar']);
    expect(await unpack(ustar)).toEqual([{ path: splitName, sha256: undefined, content }]);
    const gnu = execFileSync('tar', ['c', '--format', 'gnu', '-C', folder, 'ustar']);
    await expect(unpack(gnu)).rejects.toEqual(refusal(/format of POSIX/));
  });

  it('has the same bytes each time', () => {
    expect(pack([file, { path: 'ü', sha256: 'x', content: new Uint8Array(3) }])).toEqual(
      pack([file, { path: 'ü', sha256: 'x', content: new Uint8Array(3) }]),
    );
  });

  it('with a content that is not read is read on from the next file', async () => {
    const paths: string[] = [];
    for await (const { path: name } of readTarFiles(inPieces(pack([file, { ...file, path: 'b' }]), 77))) paths.push(name);
    expect(paths).toEqual(['file', 'b']);
  });

  it('may go on after its end, as tar pads it', async () => {
    expect(await unpack(Buffer.concat([pack([file]), Buffer.alloc(10_240)]))).toHaveLength(1);
    let end = 'not read';
    async function* padded(padding: number): AsyncGenerator<Uint8Array> {
      yield pack([file]);
      for (let index = 0; index < padding; index += 1) yield Buffer.alloc(512 * 1_024);
      end = 'read';
    }
    for await (const { path: name } of readTarFiles(padded(1))) expect(name).toBe('file');
    expect(end).toBe('read');
    end = 'not read';
    for await (const { path: name } of readTarFiles(padded(Number.POSITIVE_INFINITY))) expect(name).toBe('file');
    expect(end).toBe('not read');
  });
});

describe('an archive is rejected', () => {
  it('if it ends anywhere before its end', async () => {
    const bytes = pack([{ ...file, sha256: 'x' }]);
    for (let length = 0; length <= bytes.length - 1_024; length += 64)
      await expect(unpack(bytes.subarray(0, length)), String(length)).rejects.toEqual(refusal(/ends too early/));
  });

  it.each([
    ['a link', '2'],
    ['a hard link', '1'],
    ['a device', '3'],
    ['a pipe', '6'],
    ['a global header', 'g'],
    ['a long name of GNU tar', 'L'],
    ['a sparse file', 'S'],
    ['an unknown type', 'Z'],
  ])('if it contains %s', async (_, flag) => {
    await expect(unpack(Buffer.concat([entry(withField(headOf(file), ...typeField, flag)), tarEnd]))).rejects.toEqual(
      refusal(/an entry of type/),
    );
  });

  it.each([
    ['is not a number', 'x'],
    ['is empty', ''],
    ['is in binary', Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0xbc])],
  ])('if a size %s', async (_, value) => {
    await expect(unpack(Buffer.concat([entry(withField(headOf(file), ...sizeField, value)), tarEnd]))).rejects.toEqual(
      refusal(/without a valid size/),
    );
  });

  it('if a folder has content', async () => {
    await expect(unpack(Buffer.concat([entry(withField(headOf(file), ...typeField, '5')), tarEnd]))).rejects.toEqual(
      refusal(/without a valid size/),
    );
  });

  it('if any byte of a header is changed', async () => {
    const bytes = pack([file]);
    for (const index of [0, 99, 124, 135, 156, 257, 300]) {
      const damaged = Buffer.from(bytes);
      damaged[index] = (damaged[index] as number) ^ 1;
      await expect(unpack(damaged), String(index)).rejects.toEqual(refusal(/a header in it is damaged/));
    }
  });

  it.each([
    ['a record without a length', 'path=a\n'],
    ['a record that is too long', '99 path=a\n'],
    ['a record that ends too early', '8 path=a\n'],
    ['a record without a value', '9 pathab\n'],
  ])('if an extended header has %s', async (_, records) => {
    await expect(unpack(Buffer.concat([extendedHeader(records), entry(headOf(file)), tarEnd]))).rejects.toEqual(
      refusal(/a header in it cannot be read/),
    );
  });

  it.each(['size', 'linkpath'])('if an extended header has another %s', async (keyword) => {
    const bytes = Buffer.concat([extendedHeader(paxRecord(keyword, '1')), entry(headOf(file)), tarEnd]);
    await expect(unpack(bytes)).rejects.toEqual(refusal(/a header with/));
  });

  it('if a file has two extended headers', async () => {
    const twice = Buffer.concat([extendedHeader(paxRecord('path', 'a')), extendedHeader(paxRecord('path', 'b'))]);
    await expect(unpack(Buffer.concat([twice, entry(headOf(file)), tarEnd]))).rejects.toEqual(refusal(/two headers/));
  });

  it('if an extended header is very long', async () => {
    const bytes = Buffer.concat([extendedHeader(paxRecord('path', 'a'.repeat(20_000))), entry(headOf(file)), tarEnd]);
    await expect(unpack(bytes)).rejects.toEqual(refusal(/too long/));
  });

  it('if a name is not UTF-8', async () => {
    const bytes = Buffer.concat([entry(withField(headOf(file), 0, 100, Buffer.from([0x61, 0xff]))), tarEnd]);
    await expect(unpack(bytes)).rejects.toEqual(refusal(/not UTF-8/));
    await expect(unpack(bytes)).rejects.toBeInstanceOf(InvalidArchiveError);
  });

  it('with the error of its source, which is closed when reading stops', async () => {
    let isClosed = false;
    async function* failing(error?: Error): AsyncGenerator<Uint8Array> {
      try {
        yield pack([file, file]).subarray(0, 2_000);
        if (error) throw error;
        yield pack([file, file]).subarray(2_000);
      } finally {
        isClosed = true;
      }
    }
    const broken = new Error('broken');
    const read = async (): Promise<void> => {
      for await (const { content } of readTarFiles(failing(broken))) for await (const chunk of content) void chunk;
    };
    await expect(read()).rejects.toBe(broken);
    isClosed = false;
    for await (const { path: name } of readTarFiles(failing())) if (name === 'file') break;
    expect(isClosed).toBe(true);
  });
});
