/** A backup of a running service that takes long. */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { ServiceAnswerError } from '../../src/client/errors.ts';
import { RunningHold } from '../../src/commands/local/hold.ts';
import { Contents } from '../../src/service/backup/contents.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { startApi } from '../service/helpers/service.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryDirectory } from '../support/temporary.ts';

it('keeps its hold while the copy is checked, even longer than the service waits for a command', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const copy = join(await temporaryDirectory(), 'copy.db');
  await copyFile(join(api.dataDirectory, 'aops.db'), copy);
  // Large enough that the 30 seconds of the service pass several times on the clock below.
  const database = new Libsql(copy);
  database.exec(`create table filler (a integer primary key, b text unique);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) insert into filler select i, hex(i * 7919) from n`);
  database.close();
  let prolongCount = 0;
  let pending = 0;
  const client = {
    call: async (name: 'updateBackupHold' | 'deleteBackupHold', input: never) => {
      if (name === 'updateBackupHold') prolongCount += 1;
      pending += 1;
      return api.ok(name, input).finally(() => {
        pending -= 1;
      });
    },
    close: async () => undefined,
  } as unknown as Client;
  const { hold } = await api.ok('createBackupHold');
  const runningHold = new RunningHold({ clock, signal: new AbortController().signal }, client, api.dataDirectory, hold);
  let isChecked = false;
  const checking = Contents.open(copy).finally(() => {
    isChecked = true;
  });
  const start = clock.now();
  while (!isChecked) {
    // Time passes only when nothing is in progress, so that a slow machine does not lose the hold.
    for (let turn = 0; turn < 20 || pending > 0; turn++) await setImmediate();
    clock.advance(1_000);
  }
  await (await checking).close();
  expect(clock.now() - start).toBeGreaterThan(60_000);
  expect(prolongCount).toBeGreaterThanOrEqual(Math.floor((clock.now() - start) / 10_000));
  expect(runningHold.lossSignal.aborted).toBe(false);
  await runningHold.keepFilesAlone();
  await runningHold.release();
});

it('says that the command was delayed when it renews its hold too late', async () => {
  const [clock, ownClock] = [new ManualClock(), new ManualClock()];
  const api = await startApi({ clock });
  const client = {
    call: (name: 'updateBackupHold' | 'deleteBackupHold', input: never) =>
      api.call(name, input).then(({ status, body }) => {
        if (status < 300) return body;
        throw new ServiceAnswerError(status, body as never, {});
      }),
    close: async () => undefined,
  } as unknown as Client;
  const { hold } = await api.ok('createBackupHold');
  const runningHold = new RunningHold({ clock: ownClock, signal: new AbortController().signal }, client, api.dataDirectory, hold);
  clock.advance(40_000);
  await eventually('the service has given up the hold', async () => (await api.call('createBackupHold')).status < 300);
  ownClock.advance(40_000);
  await expect(runningHold.keepFilesAlone()).rejects.toMatchObject({
    code: 'backup_hold_lost',
    message:
      'The backup was not completed: this command was delayed for 40 seconds, but the service waits only 30 before everything was copied.',
    hint: 'Run the command again when the machine is less busy.',
  });
  await runningHold.release();
});
