/** Uploads into sandboxes that several nodes use: what is recorded and stored, and that a refused upload leaves nothing behind. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sweepFiles } from '../../../../src/service/engine/files/stored-files.ts';
import { RecordedFiles } from '../../../../src/service/engine/workspaces/recorded-files.ts';
import { openBytes } from '../../../../src/service/engine/workspaces/stored-bytes.ts';
import { uploadFile, uploadFiles } from '../../../../src/service/engine/workspaces/upload.ts';
import type { ComingBytes } from '../../../../src/service/sandbox/write.ts';
import { each, recordedSandbox } from '../../helpers/recorded-sandbox.ts';

const large = Buffer.alloc(200_000, 'large ');

/** Bytes in pieces. `before` is called before each of them. */
function coming(pieces: readonly (Buffer | string)[], before: (index: number) => unknown = () => undefined): ComingBytes {
  return {
    async *[Symbol.asyncIterator]() {
      for (const [index, piece] of pieces.entries()) {
        await before(index);
        yield Buffer.from(piece);
      }
    },
  };
}

async function newSandbox() {
  const { engine, storedKeys, sweepLater } = await recordedSandbox();
  const { store } = engine;
  const files = new RecordedFiles('s', store, openBytes(engine));
  return {
    ...{ engine, sweepLater },
    upload: (path: string, content: ComingBytes, limit?: number) => uploadFile(engine, store, 's', { path, content }, limit),
    uploadAll: (contents: [string, string][]) =>
      uploadFiles(engine, store, 's', each(contents.map(([path, text]) => ({ path, content: coming([text]) })))),
    remove: () => sql`update sandboxes set removed_at = '2026-08-02T00:00:00.000Z'`.execute(store),
    /** Every file with its content. */
    async contents(): Promise<Record<string, string>> {
      const found = (await files.walk('')).files.map(async ({ displayPath }) => {
        const { bytes } = await files.read(displayPath, 1_000_000);
        return [displayPath.slice('/workspace/'.length), bytes.length > 100 ? `${bytes.length} bytes` : bytes.toString()] as const;
      });
      return Object.fromEntries(await Promise.all(found));
    },
    storedCount: async () => (await storedKeys()).length,
  };
}

describe('an upload', () => {
  it('is recorded with the folders on the way, whatever its size', async () => {
    const { upload, uploadAll, contents } = await newSandbox();
    expect(await upload('a/b/x.txt', coming(['te', 'xt']))).toEqual({ path: '/workspace/a/b/x.txt', size: 4 });
    expect(await upload('/workspace/large', coming([large, 'end']))).toEqual({ path: '/workspace/large', size: 200_003 });
    expect(await upload('empty', coming([]))).toEqual({ path: '/workspace/empty', size: 0 });
    await uploadAll([
      ['a/y', 'first'],
      ['a/c/z', 'z'],
      ['a/y', 'last'],
    ]);
    expect(await contents()).toEqual({ 'a/b/x.txt': 'text', large: '200003 bytes', empty: '', 'a/y': 'last', 'a/c/z': 'z' });
  });

  it('that is too large is not read, or not further than its limit, and stores nothing', async () => {
    const { upload, contents, storedCount } = await newSandbox();
    let readPieces = 0;
    const content = coming([large, large, large], () => readPieces++);
    await expect(upload('a', { ...content, length: 600_000 }, 300_000)).rejects.toMatchObject({ status: 413 });
    expect(readPieces).toBe(0);
    await expect(upload('a', content, 300_000)).rejects.toMatchObject({ status: 413 });
    expect(readPieces).toBe(2);
    await upload('b', coming([large]), 200_000);
    expect([await contents(), await storedCount()]).toEqual([{ b: '200000 bytes' }, 1]);
  });

  it('that breaks off stores nothing', async () => {
    const { upload, uploadAll, contents, storedCount } = await newSandbox();
    const breakOff = (at: number) => (index: number) => {
      if (index === at) throw new Error('broken off');
    };
    await expect(upload('a', coming([large, large], breakOff(1)))).rejects.toThrow('broken off');
    await expect(upload('a', coming(['a', 'b'], breakOff(1)))).rejects.toThrow('broken off');
    await expect(
      uploadAll([
        ['a', 'text'],
        ['b', large.toString()],
        ['c/', 'text'],
      ]),
    ).rejects.toMatchObject({ error: 'invalid_path' });
    expect([await contents(), await storedCount()]).toEqual([{}, 0]);
  });

  it('is refused if something else is at its path once it has arrived', async () => {
    const { upload, contents, storedCount } = await newSandbox();
    const duringIt = (path: string) => coming([large], () => upload(path, coming(['meanwhile'])));
    await expect(upload('a', duringIt('a/b'))).rejects.toMatchObject({ error: 'not_a_file', message: '"/workspace/a" is not a file.' });
    await expect(upload('c/d', duringIt('c'))).rejects.toMatchObject({
      error: 'not_a_directory',
      message: '"/workspace/c" is not a directory.',
    });
    expect([await contents(), await storedCount()]).toEqual([{ 'a/b': 'meanwhile', c: 'meanwhile' }, 2]);
  });

  it('is not read for a sandbox that was removed, and stores nothing if that happens meanwhile', async () => {
    const { upload, uploadAll, remove, storedCount } = await newSandbox();
    const notFound = { status: 404, error: 'sandbox_not_found' };
    await expect(upload('a', coming([large, large], remove))).rejects.toMatchObject(notFound);
    expect(await storedCount()).toBe(0);
    const neverRead = coming(['a'], () => expect.fail('it was read'));
    await expect(upload('a', neverRead)).rejects.toMatchObject(notFound);
    await expect(uploadAll([['a', 'a']])).rejects.toMatchObject(notFound);
  });

  it('replaces the bytes of an earlier one, which are removed later', async () => {
    const { upload, contents, storedCount, engine, sweepLater } = await newSandbox();
    await upload('a', coming([large]));
    await upload('a', coming([large, 'more']));
    await sweepFiles(engine);
    expect(await storedCount()).toBe(2);
    await sweepLater();
    expect([await contents(), await storedCount()]).toEqual([{ a: '200004 bytes' }, 1]);
  });
});
