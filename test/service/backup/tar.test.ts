/** Archives: what is written is read again, and what other programs make of it. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTar, type TarEntry, tarEnd, tarHeader, tarPadding } from '../../../src/service/backup/tar.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

interface Whole extends Pick<TarEntry, 'name' | 'type' | 'target'> {
  content: Uint8Array;
}

const packed = (entries: readonly Whole[]): Buffer =>
  Buffer.concat([
    ...entries.flatMap(({ content, ...entry }) => [
      tarHeader({ ...entry, size: content.length, mode: 0o600, modified: 1_700_000_000 }),
      content,
      tarPadding(content.length),
    ]),
    tarEnd(),
  ]);

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function unpacked(bytes: Buffer, size = 1_000): Promise<Whole[]> {
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

describe('an archive', () => {
  it('is read as it was written, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), fc.integer({ min: 1, max: 1_500 }), async (entries, size) => {
        const plain = entries.map((each) => ({ ...each, content: Buffer.from(each.content) }));
        expect(await unpacked(packed(entries), size)).toEqual(plain);
      }),
      { numRuns: 200 },
    );
  });

  it('says the size of a file that is larger than its field', async () => {
    const size = 9 * 1_024 ** 3;
    const head = tarHeader({ name: 'large', type: 'file', size, mode: 0o600, modified: 0 });
    const { value } = await readTar(inPieces(head, 512)).next();
    expect(value).toMatchObject({ name: 'large', size });
  });

  it('is what tar reads', async () => {
    const folder = await temporaryDirectory();
    const long = `deep/${'ä'.repeat(120)}/file`;
    const file = path.join(folder, 'a.tar');
    await writeFile(
      file,
      packed([
        { name: 'empty', type: 'file', content: Buffer.alloc(0) },
        { name: 'folder', type: 'folder', content: Buffer.alloc(0) },
        { name: long, type: 'file', content: Buffer.from('text') },
        { name: 'link', type: 'link', target: long, content: Buffer.alloc(0) },
      ]),
    );
    execFileSync('tar', ['-xf', file, '-C', folder]);
    expect(execFileSync('cat', [path.join(folder, 'link')]).toString()).toBe('text');
  });

  it('that is cut off anywhere, or changed in a header, is refused', async () => {
    const bytes = packed([{ name: 'file', type: 'file', content: Buffer.alloc(700, 1) }]);
    for (const length of [0, 1, 511, 512, 800, 1_536]) {
      await expect(unpacked(bytes.subarray(0, length))).rejects.toMatchObject({ code: 'backup_damaged' });
    }
    const changed = Buffer.from(bytes);
    changed[0] = 0x67;
    await expect(unpacked(changed)).rejects.toMatchObject({ code: 'backup_damaged' });
  });

  it.each(['none', '-1', '77777777777'])('that says %s for the length of an extended header is refused', async (length) => {
    const bytes = packed([{ name: 'long'.repeat(50), type: 'file', content: Buffer.alloc(0) }]);
    bytes.fill(0, 124, 136).write(length, 124);
    bytes.fill(' ', 148, 156);
    const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    await expect(unpacked(bytes)).rejects.toMatchObject({ code: 'backup_damaged' });
  });
});
