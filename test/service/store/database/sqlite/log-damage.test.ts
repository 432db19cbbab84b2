/** Write-ahead logs after disk failures and power cuts. */
import { copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../../../src/service/log.ts';
import { logDamage } from '../../../../../src/service/store/database/sqlite/log-damage.ts';
import { openDatabase } from '../../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../../support/temporary.ts';
import { startApi } from '../../../helpers/service.ts';

/** The size of a frame: its header and a page. */
const frameBytes = 24 + 4_096;

/** The files of a database whose process was killed after this many transactions. */
async function killAfter(transactions: number): Promise<{ directory: string; log: string }> {
  const [livingDirectory, directory] = [await temporaryDirectory(), await temporaryDirectory()];
  const db = await openDatabase(livingDirectory);
  afterTest(() => db.destroy());
  for (let number = 0; number < transactions; number++)
    await db
      .insertInto('settings')
      .values({ name: `setting ${number}`, value: 'x'.repeat(3_000) })
      .execute();
  for (const name of ['aops.db', 'aops.db-wal']) await copyFile(join(livingDirectory, name), join(directory, name));
  return { directory, log: join(directory, 'aops.db-wal') };
}

async function flip(file: string, offset: number): Promise<void> {
  const bytes = await readFile(file);
  for (let index = offset; index < offset + 64; index++) bytes[index] = (bytes[index] as number) ^ 0xff;
  await writeFile(file, bytes);
}

const readBack = async (directory: string): Promise<number> => {
  const db = await openDatabase(directory);
  afterTest(() => db.destroy());
  return (await db.selectFrom('settings').select('name').where('name', 'like', 'setting %').execute()).length;
};

describe('a write-ahead log', () => {
  it('that is complete has no damage, and neither has one that was just emptied', async () => {
    const { directory, log } = await killAfter(50);
    expect(await logDamage(log)).toBeUndefined();
    expect(await readBack(directory)).toBe(50);
    await truncate(log, 0);
    expect(await logDamage(log)).toBeUndefined();
  });

  it('that is damaged in the middle loses as many transactions as reported', async () => {
    const { directory, log } = await killAfter(50);
    const { size } = await stat(log);
    await flip(log, size - 60_000);
    const damage = await logDamage(log);
    expect(damage?.transactions).toBeGreaterThan(0);
    // From the damaged frame on.
    expect(damage?.frames).toBe((size - 32) / frameBytes - Math.floor((size - 60_000 - 32) / frameBytes));
    expect(damage?.cutOff).toBe(false);
    expect(await readBack(directory)).toBe(50 - (damage?.transactions ?? 0));
  });

  it.each([8, 1_000])('that ends %i bytes before the end of a frame is reported', async (missing) => {
    const { log } = await killAfter(50);
    await truncate(log, (await stat(log)).size - missing);
    expect(await logDamage(log)).toEqual({ frames: 0, transactions: 0, cutOff: true });
  });

  it.each(['zero', 'the whole file'])('whose header contains the page size of %s is not examined', async (name) => {
    const { log } = await killAfter(50);
    const bytes = await readFile(log);
    bytes.writeUInt32BE(name === 'zero' ? 0 : bytes.length - 32 - 24, 8);
    await writeFile(log, bytes);
    expect(await logDamage(log)).toEqual({ frames: 0, transactions: 0, cutOff: true });
  });

  it('that has been used again contains old frames, which are no damage', async () => {
    const { directory, log } = await killAfter(50);
    const { size } = await stat(log);
    const db = await openDatabase(directory);
    afterTest(() => db.destroy());
    await sql`pragma wal_checkpoint(passive)`.execute(db);
    await db.insertInto('settings').values({ name: 'last', value: 'x' }).execute();
    const copy = join(await temporaryDirectory(), 'log');
    await copyFile(log, copy);
    expect((await stat(copy)).size).toBe(size);
    expect(await logDamage(copy)).toBeUndefined();
  });

  it('whose last transaction was incomplete counts as undamaged', async () => {
    const { log } = await killAfter(50);
    const bytes = await readFile(log);
    const frame = bytes.subarray(-frameBytes);
    // A frame of the same log that does not end a transaction, as after a crash.
    frame.writeUInt32BE(0, 4);
    await writeFile(log, Buffer.concat([bytes, frame]));
    expect((await logDamage(log))?.transactions ?? 0).toBe(0);
  });

  it('is reported when the service starts, if it is damaged', async () => {
    const { directory, log } = await killAfter(20);
    await flip(log, (await stat(log)).size - 30_000);
    const entries: LogEntry[] = [];
    await startApi({ dataDirectory: directory, log: (entry) => entries.push(entry) });
    expect(entries.find(({ message }) => message.startsWith('part of the write-ahead log is damaged'))).toMatchObject({
      level: 'warn',
      fields: { frames: expect.any(Number), transactions: expect.any(Number), cutOff: false },
    });
  });
});
