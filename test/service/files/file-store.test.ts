/** What all file stores do: files are complete or missing, are verified when they are read, and can be read by other nodes. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { FileStore } from '../../../src/service/files/file-store.ts';
import type { StoredFile } from '../../../src/service/files/stored-file.ts';
import { randomFrom } from '../../support/random.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { kinds } from './stores.ts';

const megabyte = 1024 * 1024;

function randomBytes(length: number, seed = 1): Buffer {
  const random = randomFrom(seed);
  const bytes = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index++) bytes[index] = random() * 256;
  return bytes;
}

/** Bytes as a stream that uses the same memory for each of its chunks. */
async function* streamOf(bytes: Buffer, chunkLength: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(chunkLength);
  for (let start = 0; start < bytes.length; start += chunkLength) {
    const length = bytes.copy(chunk, 0, start, start + chunkLength);
    yield chunk.subarray(0, length);
  }
}

async function contentOf(store: FileStore, file: StoredFile, range?: { start: number; end: number }): Promise<Buffer | undefined> {
  const stream = await store.open(file, range);
  return stream === undefined ? undefined : buffer(stream);
}

async function keysIn(store: FileStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys.sort();
}

for (const { name, missing, pieceLength, newPlace } of kinds) {
  describeNeeding(missing, `files in ${name}`, () => {
    it('are read by another node as they were stored, with their size and digest', async () => {
      const place = await newPlace();
      const [store, other] = [await place.open(), await place.open()];
      const large = randomBytes(2.5 * megabyte);
      const contents = {
        'run/empty': Buffer.alloc(0),
        'run/small': Buffer.from('small'),
        'run/exact': large.subarray(0, megabyte),
        'run/large': large,
      };
      for (const [key, content] of Object.entries(contents)) {
        const file = await store.put(key, streamOf(content, 100_000));
        expect(file).toEqual({ key, size: content.length, sha256: createHash('sha256').update(content).digest('hex') });
        expect((await contentOf(other, file))?.equals(content)).toBe(true);
      }
      expect(await contentOf(other, await store.put('run/bytes', Buffer.from('bytes')))).toEqual(Buffer.from('bytes'));
    });

    it('are read in part', async () => {
      const store = await (await newPlace()).open();
      const content = randomBytes(2.5 * megabyte);
      const file = await store.put('run/file', content);
      for (const [start, end] of [
        [0, 0],
        [5, 9],
        [megabyte - 1, megabyte],
        [megabyte, 2 * megabyte - 1],
        [10, content.length - 1],
        [content.length - 1, content.length - 1],
      ] as const)
        expect((await contentOf(store, file, { start, end }))?.equals(content.subarray(start, end + 1))).toBe(true);
    });

    it('are missing if they were never stored, or removed', async () => {
      const store = await (await newPlace()).open();
      const files = await Promise.all(['a/1', 'a/2', 'b/1'].map((key) => store.put(key, Buffer.from(key))));
      await store.delete(['a/1', 'b/1', 'c/1']);
      const contents = await Promise.all(files.map((file) => contentOf(store, file)));
      expect(contents.map((content) => content?.toString())).toEqual([undefined, 'a/2', undefined]);
      await store.delete([]);
    });

    it('are listed by the beginning of their keys', async () => {
      const store = await (await newPlace()).open();
      expect(await keysIn(store, '')).toEqual([]);
      const keys = ['runs/1/a', 'runs/1/b', 'runs/10/a', 'runs-2/a/b', 'others/1/a'];
      for (const key of keys) await store.put(key, Buffer.from(key));
      expect(await keysIn(store, '')).toEqual([...keys].sort());
      expect(await keysIn(store, 'runs/')).toEqual(['runs/1/a', 'runs/1/b', 'runs/10/a']);
      expect(await keysIn(store, 'runs/1')).toEqual(['runs/1/a', 'runs/1/b', 'runs/10/a']);
      expect(await keysIn(store, 'runs/1/')).toEqual(['runs/1/a', 'runs/1/b']);
      expect(await keysIn(store, 'runs/1/a')).toEqual(['runs/1/a']);
      expect(await keysIn(store, 'nothing/')).toEqual([]);
      for await (const { key, size } of store.list('')) expect(size).toBe(key.length);
    });

    it('do not exist if their data ends with an error, and leave nothing behind', async () => {
      const place = await newPlace();
      const store = await place.open();
      await store.put('run/other', Buffer.from('other'));
      const before = await place.remains();
      const broken = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(2.5 * pieceLength);
        throw new Error('The upload was cut off.');
      };
      await expect(store.put('run/file', broken())).rejects.toThrow('The upload was cut off.');
      expect([await keysIn(store, ''), await place.remains()]).toEqual([['run/other'], before]);
      expect(await contentOf(store, { key: 'run/file', size: 0, sha256: '' })).toBeUndefined();
    });

    it('do not exist before they are complete, and what a process that has ended has left of them is removed', async () => {
      const place = await newPlace();
      const [store, other] = [await place.open(), await place.open()];
      let fail: (error: Error) => void = () => undefined;
      const end = new Promise<never>((_, reject) => (fail = reject));
      let isWaiting: () => void = () => undefined;
      const waiting = new Promise<void>((resolve) => (isWaiting = resolve));
      const hanging = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(2.5 * pieceLength);
        isWaiting();
        yield await end;
      };
      const put = store.put('run/file', hanging());
      put.catch(() => undefined);
      await waiting;
      expect(await keysIn(other, '')).toEqual([]);
      expect(await contentOf(other, { key: 'run/file', size: 2.5 * pieceLength, sha256: '' })).toBeUndefined();
      expect(await place.remains()).toBeGreaterThan(0);
      await other.deleteUnfinished(['run/file']);
      expect(await place.remains()).toBe(0);
      fail(new Error('The end.'));
      await expect(put).rejects.toThrow();
    });

    it('are noticed if they were damaged, before their end has been read', async () => {
      const place = await newPlace();
      const store = await place.open();
      const content = randomBytes(100_000);
      const changed = Buffer.from(content);
      changed[50_000] = (changed[50_000] as number) ^ 1;
      for (const [index, [damaged, problem]] of (
        [
          [changed, 'its content has changed'],
          [content.subarray(0, -1), 'it ends after 99999 of 100000 bytes'],
          [Buffer.concat([content, Buffer.from('more')]), 'it has more than 100000 bytes'],
          [Buffer.alloc(0), 'it ends after 0 of 100000 bytes'],
        ] as const
      ).entries()) {
        const file = await store.put(`run/${index}`, content);
        await place.replace(file.key, damaged);
        let length = 0;
        const reading = async (): Promise<void> => {
          for await (const chunk of (await store.open(file)) as AsyncIterable<Buffer>) length += chunk.length;
        };
        await expect(reading()).rejects.toThrow(`The stored file ${file.key} is damaged: ${problem}.`);
        expect(length).toBeLessThan(content.length);
      }
      const file = await store.put('run/short', content);
      await place.replace(file.key, content.subarray(0, 10));
      await expect(contentOf(store, file, { start: 5, end: 20 })).rejects.toThrow('it ends after 5 of 16 bytes');
    });

    it('can be abandoned while they are read', async () => {
      const store = await (await newPlace()).open();
      const file = await store.put('run/file', randomBytes(2.5 * megabyte));
      (await store.open(file))?.destroy();
      for await (const chunk of (await store.open(file)) as AsyncIterable<Buffer>) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      expect((await contentOf(store, file))?.length).toBe(file.size);
    });

    it('have keys that cannot lead to other places', async () => {
      const store = await (await newPlace()).open();
      for (const key of [
        '',
        'one',
        '../one/two',
        'one/../two',
        '/one/two',
        'one//two',
        'one/two/',
        'one/.two',
        'one/t wo',
        `one/${'x'.repeat(101)}`,
      ])
        for (const use of [
          () => store.put(key, Buffer.from('x')),
          () => store.open({ key, size: 1, sha256: '' }),
          () => store.delete([key]),
        ])
          await expect(use()).rejects.toThrow('is not the key of a file');
    });

    it('can be stored', async () => {
      await expect((await (await newPlace()).open()).check()).resolves.toBeUndefined();
    });
  });
}
