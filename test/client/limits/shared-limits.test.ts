/** How processes share a rate limit, over real files. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { SharedLimits } from '../../../src/client/limits/shared-limits.ts';
import { json, type RawServer, reply } from '../../faults/raw-server.ts';
import { itNeeding, needsPosix } from '../../support/requirements.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { newClient, scriptedServer } from '../harness.ts';

const now = Date.parse('2026-07-18T09:00:00.000Z');
const identity = ['https://agents.example', 'secret-token'];
const getRun = { params: { run_id: 'r1' } };

let folder: string;
let limits: SharedLimits;
beforeEach(async () => {
  folder = await temporaryFolder();
  limits = new SharedLimits(folder, identity);
});

const entry = (overrides: Partial<Parameters<SharedLimits['write']>[0]> = {}) => ({
  remaining: 3,
  resetAt: now + 30_000,
  ahead: 0,
  seenAt: now,
  ...overrides,
});
const file = async (): Promise<string> => path.join(folder, 'rate-limits', (await readdir(path.join(folder, 'rate-limits')))[0] as string);

describe('the shared file', () => {
  it('is private, small, and reveals nothing about the credential', async () => {
    limits.write(entry());
    const { mode } = await stat(await file());
    expect(mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(await file()))).mode & 0o777).toBe(0o700);
    const text = `${await file()} ${await readFile(await file(), 'utf8')}`;
    expect(text).not.toContain('secret');
    expect(text).not.toContain('agents.example');
    expect(await readdir(path.dirname(await file()))).toHaveLength(1);
    expect(limits.read(now)).toMatchObject(entry());
  });

  it('belongs to one service and one credential', () => {
    limits.write(entry());
    expect(new SharedLimits(folder, ['https://agents.example', 'another']).read(now)).toBeUndefined();
    expect(new SharedLimits(folder, ['https://elsewhere.example', 'secret-token']).read(now)).toBeUndefined();
  });

  it('keeps the smallest number of a window, and the latest window', () => {
    limits.write(entry({ remaining: 2 }));
    limits.write(entry({ remaining: 5 }));
    expect(limits.read(now)?.remaining).toBe(2);
    limits.write(entry({ remaining: 9, resetAt: now + 90_000 }));
    expect(limits.read(now)).toMatchObject({ remaining: 9, resetAt: now + 90_000 });
    limits.write(entry({ remaining: 1 }));
    expect(limits.read(now)).toMatchObject({ remaining: 9, resetAt: now + 90_000 });
  });

  it('prefers the report that nothing remains, until the window ends', () => {
    limits.write(entry({ remaining: 9, resetAt: now + 90_000 }));
    limits.write(entry({ remaining: 0, resetAt: now + 20_000 }));
    limits.write(entry({ remaining: 8, resetAt: now + 90_000 }));
    limits.write(entry({ remaining: 0, resetAt: now + 10_000 }));
    expect(limits.read(now)).toMatchObject({ remaining: 0, resetAt: now + 20_000 });
    limits.write(entry({ remaining: 8, resetAt: now + 90_000, seenAt: now + 20_001 }));
    expect(limits.read(now + 20_001)).toMatchObject({ remaining: 8 });
  });

  it("is ignored once the window has ended by the service's clock, when it is old, or from the future", () => {
    limits.write(entry({ ahead: 10_000 }));
    expect(limits.read(now + 19_000)).toBeDefined();
    expect(limits.read(now + 20_000)).toBeUndefined();
    limits.write(entry({ resetAt: now + 7_200_000 }));
    expect(limits.read(now + 3_600_000)).toBeDefined();
    expect(limits.read(now + 3_600_001)).toBeUndefined();
    expect(limits.read(now - 60_000)).toBeDefined();
    expect(limits.read(now - 60_001)).toBeUndefined();
  });

  it.each([
    ['fewer requests of the same window', 2, 0, true],
    ['the same again', 3, 0, true],
    ['more requests of the same window', 4, 0, false],
    ['fewer requests of a window that ends within a second before', 2, -999, true],
    ['fewer requests of an earlier window', 2, -1_000, false],
    ['more requests of a window that ends within a second afterwards', 9, 999, false],
    ['more requests of a later window', 9, 1_000, true],
  ])('is replaced by the entry of a process that knows of %s: %i, %i ms later', (_, remaining, difference, isReplaced) => {
    limits.write(entry());
    limits.write(entry({ remaining, resetAt: entry().resetAt + difference, seenAt: now + 1 }));
    expect(limits.read(now)?.seenAt).toBe(isReplaced ? now + 1 : now);
  });

  it.each(['remaining', 'resetAt', 'ahead', 'seenAt'])('is ignored if %s is not a number', async (name) => {
    limits.write(entry());
    for (const value of [undefined, null, String(entry()[name as 'ahead'])]) {
      await writeFile(await file(), JSON.stringify({ v: 1, ...entry(), [name]: value }));
      expect(limits.read(now)).toBeUndefined();
    }
  });

  it('is ignored if it is large, and is closed after reading', async () => {
    limits.write(entry());
    const text = JSON.stringify({ v: 1, ...entry() });
    await writeFile(await file(), text.padEnd(1_024));
    expect(limits.read(now)).toBeDefined();
    await writeFile(await file(), text.padEnd(1_025));
    expect(limits.read(now)).toBeUndefined();
    const nextDescriptor = (): number => {
      const descriptor = openSync(folder, 'r');
      closeSync(descriptor);
      return descriptor;
    };
    const before = nextDescriptor();
    for (let count = 0; count < 50; count += 1) limits.read(now);
    expect(nextDescriptor() - before).toBeLessThan(50);
  });

  itNeeding(needsPosix, 'is ignored, without waiting, if it is a pipe', async () => {
    limits.write(entry());
    const name = await file();
    await rm(name);
    execFileSync('mkfifo', ['-m', '600', name]);
    expect(limits.read(now)).toBeUndefined();
  });

  it('that cannot be replaced leaves nothing behind', async () => {
    limits.write(entry());
    const name = await file();
    await rm(name);
    await mkdir(path.join(name, 'in the way'), { recursive: true });
    limits.write(entry());
    expect(await readdir(path.dirname(name))).toEqual([path.basename(name)]);
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"v":1}',
    '{"v":2,"remaining":1,"resetAt":9e12,"ahead":0,"seenAt":1784365200000}',
    '{"v":1,"remaining":null}',
    'x'.repeat(5_000),
  ])('is ignored and rewritten when it contains %j', async (text) => {
    limits.write(entry());
    await writeFile(await file(), text);
    expect(limits.read(now)).toBeUndefined();
    limits.write(entry());
    expect(limits.read(now)).toBeDefined();
  });

  it('is ignored when other users can write it, or when it is a link', async () => {
    limits.write(entry());
    const limitsFile = await file();
    await chmod(limitsFile, 0o622);
    expect(limits.read(now)).toBeUndefined();
    const otherPath = path.join(folder, 'elsewhere');
    await writeFile(otherPath, JSON.stringify({ v: 1, ...entry() }), { mode: 0o600 });
    const otherLimits = new SharedLimits(folder, ['other']);
    otherLimits.write(entry());
    const name = (await readdir(path.dirname(limitsFile))).find(
      (candidate) => path.join(path.dirname(limitsFile), candidate) !== limitsFile,
    ) as string;
    const link = path.join(path.dirname(limitsFile), name);
    await writeFile(link, '');
    await rm(link);
    await symlink(otherPath, link);
    expect(otherLimits.read(now)).toBeUndefined();
  });

  it('may be impossible to write without an error', async () => {
    await writeFile(path.join(folder, 'rate-limits'), 'in the way');
    expect(() => limits.write(entry())).not.toThrow();
    expect(limits.read(now)).toBeUndefined();
    const readOnly = path.join(folder, 'read-only');
    await mkdir(readOnly, { mode: 0o500 });
    expect(() => new SharedLimits(readOnly, identity).write(entry())).not.toThrow();
  });
});

describe('several processes', () => {
  const usedAnswer = (remaining: number) =>
    json(
      200,
      { run: { id: 'r1' } },
      { 'ratelimit-remaining': String(remaining), 'ratelimit-reset': String(now / 1_000 + 30), date: new Date(now).toUTCString() },
    );
  const processAt = (server: RawServer) => newClient(server.url, { sharedLimits: new SharedLimits(folder, identity) });

  it('wait for a limit that one of them has learned', async () => {
    const server = await scriptedServer(usedAnswer(0), usedAnswer(5));
    const [firstHarness, otherHarness] = [processAt(server), processAt(server)];
    await firstHarness.client.call('getRun', getRun);
    await otherHarness.client.call('getRun', getRun);
    expect(otherHarness.clock.waitTimes).toEqual([32_550]);
    expect(server.requests).toHaveLength(2);
  });

  it('learn of a 429, even while they run', async () => {
    const server = await scriptedServer(usedAnswer(100), json(429, { error: 'rate_limited' }, { 'retry-after': '20' }), usedAnswer(9));
    const otherHarness = processAt(server);
    await otherHarness.client.call('getRun', getRun);
    const firstClient = newClient(server.url, {
      sharedLimits: new SharedLimits(folder, identity),
      maxWaitMilliseconds: 20_000,
      deadline: now + 20_000,
    });
    await expect(firstClient.client.call('getRun', getRun)).rejects.toThrow('cannot finish in time');
    otherHarness.clock.advance(1_000);
    await otherHarness.client.call('getRun', getRun);
    expect(otherHarness.clock.waitTimes).toEqual([21_000]);
    expect(server.requests).toHaveLength(3);
  });

  it('write nothing as long as many requests remain', async () => {
    const server = await scriptedServer(usedAnswer(500));
    await processAt(server).client.call('getRun', getRun);
    await expect(readdir(path.join(folder, 'rate-limits'))).rejects.toThrow('ENOENT');
  });

  it('share four requests of a window without a 429', async () => {
    let count = 0;
    let refusals = 0;
    const server = (await scriptedServer()).always(
      reply(() => {
        count += 1;
        if (count > 4) refusals += 1;
        return usedAnswer(Math.max(0, 4 - count));
      }),
    );
    const processes = [processAt(server), processAt(server), processAt(server)];
    for (const { client } of processes) await client.call('getRun', getRun);
    await processes[0]?.client.call('getRun', getRun);
    for (const { client, clock } of processes) {
      clock.advance(1_000);
      await client.call('getRun', getRun);
      expect(clock.waitTimes).toHaveLength(1);
    }
    expect(refusals).toBe(3);
  });
});
