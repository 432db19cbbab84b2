/** Archives of plain files: other programs can read them, and damaged or ambiguous ones are rejected. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArchiveError } from '../../../src/base/tar/tar-entry.ts';
import { readTarFiles, TarFileWriter } from '../../../src/base/tar/tar-files.ts';
import { eventually } from '../../support/eventually.ts';
import { sumOf, tarOf } from '../../support/tar.ts';
import { extendedHeader, paxRecord, sizeField, tarEnd, tarHeader, tarPadding, typeField, withField } from '../../support/tar-bytes.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

interface Whole {
  path: string;
  sha256?: string | undefined;
  content: Uint8Array;
}

const whole = (name: string, content: Uint8Array): Whole & { sha256: string } => ({ path: name, sha256: sumOf(content), content });

async function pack(files: readonly Whole[]): Promise<Buffer> {
  const tar = new TarFileWriter();
  const chunks: Buffer[] = [];
  for (const { path: name, content } of files)
    for await (const bytes of tar.add({ path: name, size: content.length, sha256: sumOf(content) }, [content])) chunks.push(bytes);
  for await (const bytes of tar.end()) chunks.push(bytes);
  return Buffer.concat(chunks);
}

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

const file = whole('file', new Uint8Array(700).fill(1));
const headOf = ({ path: name, content }: Whole) =>
  tarHeader({ name, type: 'file', size: content.length, mode: 0o600, modifiedAt: 1_700_000_000 });
const entry = (head: Buffer, { content }: Whole = file): Buffer => Buffer.concat([head, content, tarPadding(content.length)]);
const refusal = (message: RegExp) => expect.objectContaining({ message: expect.stringMatching(message) });

describe('an archive', () => {
  it('contains what was written, read in pieces of any size', async () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).map((text) => text.replaceAll('\0', '_'));
    const anyFile = fc.tuple(name, fc.uint8Array({ maxLength: 2_000 })).map((values) => whole(...values));
    await fc.assert(
      fc.asyncProperty(fc.array(anyFile, { maxLength: 5 }), fc.integer({ min: 50, max: 5_000 }), async (files, size) => {
        expect(await unpack(await pack(files), size)).toEqual(files);
      }),
      { numRuns: 30 },
    );
  });

  it('keeps the whole of a long path that begins with a slash', async () => {
    const long = whole(`/workspace/${'folder/'.repeat(20)}a`, new Uint8Array(3));
    expect(await unpack(await pack([long]))).toEqual([long]);
  });

  it('can be read by tar, with long names and names in other scripts', async () => {
    const folder = await temporaryDirectory();
    const files = [
      { path: 'plain.txt', content: Buffer.from('plain') },
      { path: `${'folder/'.repeat(30)}long.txt`, content: Buffer.alloc(1_000, 'long') },
      { path: 'übung/日本.txt', content: Buffer.alloc(0), sha256: createHash('sha256').digest('hex') },
    ];
    execFileSync('tar', ['x', '--warning=no-unknown-keyword', '-C', folder], { input: await pack(files) });
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

  it('has the same bytes each time', async () => {
    const files = [file, whole('ü', new Uint8Array(3))];
    expect(await pack(files)).toEqual(await pack(files));
  });

  it('with a content that is not read is read on from the next file', async () => {
    const paths: string[] = [];
    for await (const { path: name } of readTarFiles(inPieces(tarOf({ file: 'a', b: 'b' }), 77))) paths.push(name);
    expect(paths).toEqual(['file', 'b']);
  });

  it('may be followed by padding, as tar writes it, which is read', async () => {
    let end = 'not read';
    async function* padded(): AsyncGenerator<Uint8Array> {
      yield tarOf({ file: 'a' });
      for (let index = 0; index < 3; index += 1) yield Buffer.alloc(10_240);
      end = 'read';
    }
    for await (const { path: name } of readTarFiles(padded())) expect(name).toBe('file');
    expect(end).toBe('read');
  });
});

describe('an archive is rejected', () => {
  it('if it ends anywhere before its end', async () => {
    const bytes = await pack([file, whole('empty', new Uint8Array())]);
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
    await expect(unpack(Buffer.concat([entry(withField(headOf(file), ...typeField, flag)), tarEnd()]))).rejects.toEqual(
      refusal(/an entry of type|a link with content/),
    );
  });

  it.each([
    ['is not a number', 'x'],
    ['is negative', Buffer.from([...Array<number>(11).fill(0xff), 0xfe])],
    ['is in an unknown kind of binary', Buffer.from([0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0xbc])],
    ['is not exact', Buffer.from([0x80, ...Array<number>(11).fill(0x7f)])],
  ])('if a size %s', async (_, value) => {
    await expect(unpack(Buffer.concat([entry(withField(headOf(file), ...sizeField, value)), tarEnd()]))).rejects.toEqual(
      refusal(/without a valid size|cannot be read/),
    );
  });

  it('if a folder has content', async () => {
    await expect(unpack(Buffer.concat([entry(withField(headOf(file), ...typeField, '5')), tarEnd()]))).rejects.toEqual(
      refusal(/folder with content/),
    );
  });

  it('if any byte of a header is changed', async () => {
    const bytes = Buffer.concat([entry(headOf(file)), tarEnd()]);
    for (const index of [0, 99, 124, 135, 156, 257, 300]) {
      const damaged = Buffer.from(bytes);
      damaged[index] = (damaged[index] as number) ^ 1;
      await expect(unpack(damaged), String(index)).rejects.toEqual(refusal(/a header in it cannot be read/));
    }
  });

  it.each([
    ['a record without a length', 'path=a\n'],
    ['a record that is too long', '99 path=a\n'],
    ['a record that ends too early', '8 path=a\n'],
    ['a record without a value', '9 pathab\n'],
  ])('if an extended header has %s', async (_, records) => {
    await expect(unpack(Buffer.concat([extendedHeader(records), entry(headOf(file)), tarEnd()]))).rejects.toEqual(
      refusal(/a header in it cannot be read/),
    );
  });

  it('if a file has two extended headers', async () => {
    const twice = Buffer.concat([extendedHeader(paxRecord('path', 'a')), extendedHeader(paxRecord('path', 'b'))]);
    await expect(unpack(Buffer.concat([twice, entry(headOf(file)), tarEnd()]))).rejects.toEqual(refusal(/two headers/));
  });

  it('if an extended header is very long', async () => {
    const bytes = Buffer.concat([extendedHeader(paxRecord('path', 'a'.repeat(70_000))), entry(headOf(file)), tarEnd()]);
    await expect(unpack(bytes)).rejects.toEqual(refusal(/too long/));
  });

  it('if a name is not UTF-8', async () => {
    const bytes = Buffer.from([0x61, 0xff]);
    const plain = entry(withField(headOf(file), 0, 100, bytes));
    const extended = extendedHeader(paxRecord('path', 'ab'));
    bytes.copy(extended, extended.indexOf('ab'));
    for (const head of [plain, Buffer.concat([extended, entry(headOf(file))])]) {
      await expect(unpack(Buffer.concat([head, tarEnd()]))).rejects.toEqual(refusal(/not UTF-8/));
      await expect(unpack(Buffer.concat([head, tarEnd()]))).rejects.toBeInstanceOf(InvalidArchiveError);
    }
  });
});

describe('the source of an archive', () => {
  const bytes = tarOf({ a: 'a', b: 'b' });
  const broken = new Error('broken');

  it.each([0, 100, 600, 2_048, 2_148, 4_096, 5_120])('that fails after %i bytes fails after the files that arrived', async (length) => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, length);
      throw broken;
    }
    const texts: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { content } of readTarFiles(failing())) for await (const chunk of content) texts.push(Buffer.from(chunk).toString());
    };
    await expect(read()).rejects.toBe(broken);
    expect(texts).toEqual(['a', 'b'].slice(0, Math.floor(length / 2_048)));
  });

  it('is closed when reading stops', async () => {
    let isClosed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield bytes.subarray(0, 4_096);
      } finally {
        isClosed = true;
      }
    }
    for await (const { path: name } of readTarFiles(endless())) if (name === 'b') break;
    await eventually('the source to be closed', () => isClosed);
  });
});
