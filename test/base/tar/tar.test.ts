/** Archives: they can be read after they were written, by other programs too, and damaged ones are rejected. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArchiveError, type TarEntry } from '../../../src/base/tar/tar-entry.ts';
import { readTar } from '../../../src/base/tar/tar-reader.ts';
import { TarWriter } from '../../../src/base/tar/tar-writer.ts';
import { runPromptly } from '../../support/promptly.ts';
import { extendedHeader, paxRecord, sizeField, tarEnd, tarHeader, tarPadding, typeField, withField } from '../../support/tar-bytes.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

interface Whole extends Pick<TarEntry, 'name' | 'type' | 'target'> {
  content: Uint8Array;
}

const modifiedAt = 1_700_000_000;
const headOf = ({ content, ...entry }: Whole): TarEntry => ({ ...entry, size: content.length, mode: 0o600, modifiedAt });

/** As aops writes archives. */
async function pack(entries: readonly Whole[]): Promise<Buffer> {
  const tar = new TarWriter();
  const chunks: Buffer[] = [];
  for (const entry of entries) for await (const bytes of tar.add(headOf(entry), [entry.content])) chunks.push(bytes);
  for await (const bytes of tar.end()) chunks.push(bytes);
  return Buffer.concat(chunks);
}

/** As aops wrote them before it used a library. */
const packedBefore = (entries: readonly Whole[]): Buffer =>
  Buffer.concat([...entries.flatMap((entry) => [tarHeader(headOf(entry)), entry.content, tarPadding(entry.content.length)]), tarEnd()]);

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function unpack(bytes: Buffer, size = 1_000): Promise<Whole[]> {
  const entries: Whole[] = [];
  for await (const { name, type, target, content } of readTar(inPieces(bytes, size))) {
    const chunks: Buffer[] = [];
    for await (const chunk of content()) chunks.push(Buffer.from(chunk));
    entries.push({ name, type, ...(target === undefined ? {} : { target }), content: Buffer.concat(chunks) });
  }
  return entries;
}

const name = fc
  .array(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.map((part) => part.replace(/[/\0]/g, '_')).join('/'));
const entry: fc.Arbitrary<Whole> = fc.oneof(
  fc.record({ name, type: fc.constant('file' as const), content: fc.uint8Array({ maxLength: 2_000 }) }),
  fc.record({ name, type: fc.constant('folder' as const), content: fc.constant(new Uint8Array()) }),
  fc.record({ name, type: fc.constant('link' as const), target: name, content: fc.constant(new Uint8Array()) }),
);
const file: Whole = { name: 'file', type: 'file', content: Buffer.alloc(700, 1) };
const refusal = (message: RegExp) => expect.objectContaining({ message: expect.stringMatching(message), constructor: InvalidArchiveError });

describe('an archive', () => {
  it('contains what was written, read in pieces of any size, whether this version or an earlier one wrote it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), fc.integer({ min: 1, max: 1_500 }), async (entries, size) => {
        const plain = entries.map((entry) => ({ ...entry, content: Buffer.from(entry.content) }));
        expect(await unpack(await pack(entries), size)).toEqual(plain);
        expect(await unpack(packedBefore(entries), size)).toEqual(plain);
      }),
      { numRuns: 200 },
    );
  });

  it.each([-86_400, 0, 1_700_000_000, 2 ** 31, 253_402_300_799])('keeps the modification time %s', async (seconds) => {
    const chunks: Buffer[] = [];
    const old = { name: 'old', type: 'folder', size: 0, mode: 0o700, modifiedAt: seconds + 0.5 } as const;
    for await (const bytes of new TarWriter().add(old)) chunks.push(bytes);
    const { value } = await readTar(inPieces(Buffer.concat([...chunks, tarEnd()]), 512)).next();
    expect(value).toMatchObject({ name: 'old', type: 'folder', modifiedAt: seconds });
  });

  it('contains the size of a file that is larger than 8 GiB', async () => {
    const size = 9 * 1_024 ** 3;
    const largeEntry = { name: 'large', type: 'file', size, mode: 0o600, modifiedAt: 0 } as const;
    const { value: head } = await new TarWriter().add(largeEntry, [Buffer.alloc(1)]).next();
    for (const bytes of [head as Buffer, tarHeader(largeEntry)]) {
      const { value } = await readTar(inPieces(Buffer.concat([bytes, Buffer.alloc(512)]), 512)).next();
      expect(value).toMatchObject({ name: 'large', size });
    }
  });

  it('can be read by tar', async () => {
    const folder = await temporaryDirectory();
    const longText = `deep/${'ä'.repeat(120)}/file`;
    const place = path.join(folder, 'a.tar');
    await writeFile(
      place,
      await pack([
        { name: 'empty', type: 'file', content: Buffer.alloc(0) },
        { name: 'folder', type: 'folder', content: Buffer.alloc(0) },
        { name: longText, type: 'file', content: Buffer.from('text') },
        { name: 'link', type: 'link', target: longText, content: Buffer.alloc(0) },
      ]),
    );
    execFileSync('tar', ['-xf', place, '-C', folder]);
    expect(execFileSync('cat', [path.join(folder, 'link')]).toString()).toBe('text');
  });

  it('has an extended header of at most 64 KiB', async () => {
    const recordOf = (size: number) => paxRecord('comment', 'x'.repeat(size - paxRecord('comment', 'x'.repeat(60_000)).length + 60_000));
    const withHeader = (size: number) => Buffer.concat([extendedHeader(recordOf(size)), packedBefore([file])]);
    expect(await unpack(withHeader(65_536))).toMatchObject([{ name: 'file' }]);
    await expect(unpack(withHeader(65_537))).rejects.toEqual(refusal(/too long/));
  });

  it('is read with the time 0 for an entry whose time is not a number', async () => {
    const bytes = Buffer.concat([extendedHeader(paxRecord('mtime', 'yesterday')), packedBefore([file])]);
    const { value } = await readTar(inPieces(bytes, 512)).next();
    expect(value).toMatchObject({ name: 'file', modifiedAt: 0 });
  });

  it('is not buffered, however many entries have no content', async () => {
    const tar = new TarWriter();
    const folder = { name: 'folder', type: 'folder', size: 0, mode: 0o700, modifiedAt: 0 } as const;
    for (let count = 0; count < 100; count++) {
      const bytes = tar.add(folder);
      expect((await bytes.next()).value).toHaveLength(512);
      expect(await bytes.next()).toMatchObject({ done: true });
    }
  });

  it('is not written if the size of a file differs from the size in its header', async () => {
    const write = async (size: number) => {
      for await (const _ of new TarWriter().add({ ...headOf(file), size }, [file.content]));
    };
    await expect(write(699)).rejects.toThrow('Size mismatch');
    await expect(write(701)).rejects.toThrow('Size mismatch');
  });

  it('can be listed without reading the contents of its files', async () => {
    const names: string[] = [];
    const largeEntry = { ...file, content: Buffer.alloc(300_000) };
    for await (const { name: entryName } of readTar(inPieces(packedBefore([largeEntry, file, largeEntry]), 65_536))) names.push(entryName);
    expect(names).toEqual(['file', 'file', 'file']);
  });
});

describe('a damaged archive is rejected', () => {
  it.each([0, 1, 511, 512, 800, 1_536])('when it is cut off after %i bytes', async (length) => {
    await expect(unpack(packedBefore([file]).subarray(0, length))).rejects.toEqual(refusal(/it ends too early/));
  });

  it('when a header does not match its checksum', async () => {
    const bytes = packedBefore([file]);
    bytes[0] = 0x67;
    await expect(unpack(bytes)).rejects.toEqual(refusal(/a header in it cannot be read/));
  });

  it('when bytes other than entries follow its end', async () => {
    const names: string[] = [];
    for await (const { name: entryName } of readTar(inPieces(Buffer.concat([packedBefore([file]), packedBefore([file])]), 512)))
      names.push(entryName);
    // An entry after the end is not skipped.
    expect(names).toEqual(['file', 'file']);
    await expect(unpack(Buffer.concat([packedBefore([file]), Buffer.from('trailing')]))).rejects.toEqual(refusal(/ends too early/));
  });

  it.each(['none', '-1', '77777777777'])('when the length of an extended header is "%s"', async (length) => {
    const bytes = packedBefore([{ ...file, name: 'long'.repeat(50) }]);
    const [head, tail] = [bytes.subarray(0, 512), bytes.subarray(512)];
    await expect(runPromptly(() => unpack(Buffer.concat([withField(head, ...sizeField, length), tail])))).rejects.toEqual(
      refusal(/cannot be read/),
    );
  });

  it.each([
    ['a record that is longer than the header', '99 path=short\n', /cannot be read/],
    ['a record that is shorter than itself', `${paxRecord('path', 'x')}5 path=x\n`, /cannot be read/],
    ['a record without a length', 'path=x\n', /cannot be read/],
    ['a record of length 0', '0 path=x\n', /cannot be read/],
    ['a record without a key', '7 path\n', /cannot be read/],
    ['a record without a line break', '9 path=xy', /cannot be read/],
    ['a record whose equals sign is in the next one', '7 path\n9 path=x\n', /cannot be read/],
    ['more records than aops needs', paxRecord('comment', 'x'.repeat(70_000)), /too long/],
  ])('when an extended header contains %s', async (_, text, message) => {
    const bytes = Buffer.concat([extendedHeader(text), packedBefore([file])]);
    await expect(runPromptly(() => unpack(bytes))).rejects.toEqual(refusal(message));
  });

  it.each([
    ['a hard link', '1', /of type "link"/],
    ['a device', '3', /of type "character-device"/],
    ['a pipe', '6', /of type "fifo"/],
    ['an unknown type', 'Z', /of type "unknown"/],
  ])('when it contains %s', async (_, flag, message) => {
    const bytes = Buffer.concat([withField(tarHeader({ ...headOf(file), size: 0 }), ...typeField, flag), tarEnd()]);
    await expect(unpack(bytes)).rejects.toEqual(refusal(message));
  });

  it.each([
    ['a global header', 'g', /of type "pax-global-header"/],
    ['a GNU name', 'L', /of type "gnu-long-path"/],
    ['the GNU name of a link target', 'K', /of type "gnu-long-link-path"/],
  ])('when it contains %s, which could rename the next entry', async (_, flag, message) => {
    const bytes = Buffer.concat([extendedHeader(paxRecord('path', 'other'), flag), packedBefore([file])]);
    await expect(unpack(bytes)).rejects.toEqual(refusal(message));
  });

  // tar-stream reads an invalid binary size as null, and would wait forever for the content.
  it.each([
    ['octal', '000000009'],
    ['zero or more', Buffer.from([0xff, ...Array<number>(10).fill(0xff), 0xfe])],
    ['a known kind of binary number', Buffer.from([0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0])],
    ['a safe integer', Buffer.from([0x80, ...Array<number>(11).fill(0x7f)])],
  ])('when a size is not %s', async (_, size) => {
    const head = withField(tarHeader(headOf(file)), ...sizeField, size);
    const bytes = Buffer.concat([head, packedBefore([file]).subarray(512)]);
    await expect(runPromptly(() => unpack(bytes))).rejects.toBeInstanceOf(InvalidArchiveError);
  });

  it.each(['1e3', '0x10', '12 bytes', '', '-5'])('when the size in an extended header is "%s"', async (size) => {
    const bytes = Buffer.concat([extendedHeader(paxRecord('size', size)), packedBefore([file])]);
    await expect(runPromptly(() => unpack(bytes))).rejects.toBeInstanceOf(InvalidArchiveError);
  });

  it.each(['folder', 'link'] as const)('when a %s has content', async (type) => {
    const bytes = Buffer.concat([
      withField(tarHeader({ ...headOf(file), type, target: 'x' }), ...sizeField, '00000001000'),
      Buffer.alloc(1_024),
      tarEnd(),
    ]);
    await expect(runPromptly(() => unpack(bytes))).rejects.toEqual(refusal(new RegExp(`${type} with content`)));
  });

  it('or read, whichever of its bytes were changed, and reading never hangs', async () => {
    const validArchive = packedBefore([file, { name: 'long'.repeat(50), type: 'link', target: 'x', content: Buffer.alloc(0) }, file]);
    const change = fc.record({ at: fc.nat({ max: validArchive.length - 1 }), byte: fc.nat({ max: 255 }), isHeaderValid: fc.boolean() });
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), fc.integer({ min: 100, max: 5_000 }), async (changes, size) => {
        let bytes = Buffer.from(validArchive);
        for (const { at, byte, isHeaderValid } of changes) {
          const start = at - (at % 512);
          // Most changes would be noticed by the checksum alone.
          if (isHeaderValid)
            bytes = Buffer.concat([bytes.subarray(0, start), withField(bytes.subarray(start), at % 512, 1, Buffer.of(byte))]);
          else bytes[at] = byte;
        }
        const outcome = await unpack(bytes, size).then(
          () => 'read',
          (error: unknown) => (error instanceof InvalidArchiveError ? 'rejected' : String(error)),
        );
        outcomes.add(outcome);
      }),
      { numRuns: 2_000, seed: 20_261_122 },
    );
    expect([...outcomes].sort()).toEqual(['read', 'rejected']);
  });
});
