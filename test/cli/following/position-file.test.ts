/** The positions that `--resume auto` remembers: who may use one, what is kept, and for how long. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { expect, it, vi } from 'vitest';
import { PositionFile } from '../../../src/cli/following/position-file.ts';
import { asOrdinaryUser } from '../../support/ordinary-user.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const day = 86_400_000;
const now = 1_800_000_000_000;
const name = { stream: 'run', id: 'r1', reader: '' };

async function machine() {
  const data = await temporaryFolder();
  const folder = path.join(data, 'positions');
  const context = {
    ...{ paths: { data }, clock: { now: () => now, sleep: async () => undefined }, signal: new AbortController().signal },
    launcher: { pid: process.pid, kill: () => undefined },
  } as unknown as Parameters<typeof PositionFile.open>[0];
  const files = () => readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8'));
  return { folder, files, open: (reader = '') => PositionFile.open(context, { ...name, reader }) };
}

it('is the last one that was saved, for each reader', async () => {
  const { open, files } = await machine();
  const first = await open();
  expect(first.token).toBeUndefined();
  first.save('t1');
  first.save('t2');
  first.close();
  const other = await open('other');
  expect(other.token).toBeUndefined();
  other.close();
  const second = await open();
  expect(second.token).toBe('t2');
  second.close();
  expect(files()).toEqual(['t2\n']);
});

it('is replaced by one that lasts longer when the stream ends', async () => {
  const { open, files } = await machine();
  const lasting = (token: string): string => `whole ${token}`;
  const unused = await open();
  unused.close(lasting);
  expect(files()).toEqual([]);
  const used = await open();
  used.save('t1');
  used.close(lasting);
  expect(files()).toEqual(['whole t1\n']);
});

it('belongs to one process at a time, which the error says, with the name of the reader', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'setInterval', 'clearInterval'] });
  try {
    const { open } = await machine();
    const positions = [await open(), await open('indexer')];
    const failures = Promise.all([open(), open('indexer')].map((second) => second.catch((error: unknown) => error)));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await failures).toMatchObject([
      { code: 'stream_in_use', exit: 6, message: 'Another process is reading this stream with --resume auto.' },
      { code: 'stream_in_use', exit: 6, message: 'Another process is reading this stream with --resume auto:indexer.' },
    ]);
    for (const position of positions) position.close();
    (await open()).close();
  } finally {
    vi.useRealTimers();
  }
});

it('is removed if nobody has used it for 90 days, and a journal after 7', async () => {
  const { folder, open } = await machine();
  mkdirSync(folder);
  const ages = { old: 91, recent: 89, 'old.journal': 8, 'recent.journal': 6 };
  for (const [file, days] of Object.entries(ages)) {
    writeFileSync(path.join(folder, file), '');
    utimesSync(path.join(folder, file), (now - days * day) / 1_000, (now - days * day) / 1_000);
  }
  (await open()).close();
  expect(readdirSync(folder).sort()).toEqual(['recent', 'recent.journal']);
});

it('that cannot be read is an error, which names the file', async () => {
  const { folder, open } = await machine();
  const position = await open();
  position.save('t1');
  position.close();
  const [file = ''] = readdirSync(folder);
  chmodSync(path.join(folder, file), 0o000);
  await expect(asOrdinaryUser(path.dirname(folder), () => open())).rejects.toMatchObject({ message: expect.stringContaining(file) });
});
