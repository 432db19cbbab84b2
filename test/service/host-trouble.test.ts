import Libsql from 'libsql';
import { describe, expect, it, vi } from 'vitest';
import { ServiceError } from '../../src/service/errors.ts';
import { hostTrouble } from '../../src/service/host-trouble.ts';
import { createLog, errorFields, type LogEntry } from '../../src/service/log.ts';
import { RenderPool } from '../../src/service/runtimes/script/rendering/pool.ts';
import { createScriptRuntime } from '../../src/service/runtimes/script/script-runtime.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';
import { fileHandles } from './helpers/disk.ts';
import { config, startApi } from './helpers/service.ts';

const systemError = (code: string, syscall = 'write') => Object.assign(new Error(`${code}: something, ${syscall}`), { code, syscall });

describe('a problem of the host', () => {
  it.each([
    [systemError('ENOSPC'), 'disk_full'],
    [systemError('EDQUOT'), 'disk_full'],
    [systemError('EIO'), 'disk_failed'],
    [systemError('EMFILE', 'open'), 'too_many_open_files'],
    [systemError('ENFILE', 'open'), 'too_many_open_files'],
    [systemError('ENOMEM', 'spawn'), 'out_of_memory'],
    [systemError('EAGAIN', 'spawn /bin/sh'), 'out_of_memory'],
    [new Error('outer', { cause: systemError('ENOSPC') }), 'disk_full'],
    [systemError('EAGAIN', 'read'), undefined],
    [systemError('ENOENT', 'open'), undefined],
    [new ServiceError(400, 'no', 'No.'), undefined],
    [new Error('nothing'), undefined],
    ['a text', undefined],
  ])('%s', (error, problem) => expect(hostTrouble(error)).toBe(problem));

  it('is recognised when a database is full', async () => {
    const database = new Libsql(`${await temporaryDirectory()}/a.db`);
    afterTest(async () => void database.close());
    database.exec('create table t (v); pragma max_page_count = 3');
    const insert = database.prepare('insert into t values (?)');
    let failure: unknown;
    try {
      for (let row = 0; row < 100; row++) insert.run(['x'.repeat(2_000)]);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(Error);
    expect(hostTrouble(failure)).toBe('disk_full');
  });

  it('is logged once a minute, with the number of suppressed entries and without stack traces', () => {
    const entries: LogEntry[] = [];
    let now = 0;
    const log = createLog(
      () => now,
      (entry) => entries.push(entry),
    );
    const meet = (code: string, message = 'a job failed') => log('error', message, { subject: 'x', ...errorFields(systemError(code)) });
    for (let time = 0; time < 1_000; time++) meet('ENOSPC');
    meet('EMFILE');
    meet('ENOSPC', 'a request failed');
    now = 60_000;
    meet('ENOSPC');
    log('error', 'a job failed', errorFields(new Error('of its own')));
    log('error', 'a job failed', errorFields(new Error('of its own')));
    expect(entries.map(({ message, fields }) => [message, fields.trouble, fields.repeated])).toEqual([
      ['a job failed', 'disk_full', undefined],
      ['a job failed', 'too_many_open_files', undefined],
      ['a request failed', 'disk_full', undefined],
      ['a job failed', 'disk_full', 999],
      ['a job failed', undefined, undefined],
      ['a job failed', undefined, undefined],
    ]);
    expect(entries.slice(0, 4).every(({ fields }) => fields.stack === undefined)).toBe(true);
  });

  it.each(['ENOSPC', 'EMFILE', 'EIO'])('delays a run whose step it interrupts, and does not fail the run (%s)', async (code) => {
    const logEntries: LogEntry[] = [];
    // The test polls for the end of the run without pauses, which would exceed the default rate limit.
    const rateLimit = { limit: 1_000_000, windowSeconds: 60 };
    const api = await startApi({
      rateLimit,
      runtimes: [createScriptRuntime({ pool: new RenderPool() })],
      log: (entry) => logEntries.push(entry),
    });
    const handles = await fileHandles();
    const spy = vi.spyOn(handles, 'writeFile').mockRejectedValueOnce(systemError(code)).mockRejectedValueOnce(systemError(code));
    afterTest(() => spy.mockRestore());
    const procedure = 'version: 1\nsteps:\n  - write: { path: a.txt, content: "{{ message }}" }';
    const { agent } = await api.ok('createAgent', {
      body: { name: 'Writes', build: { name: 'first', config: config(procedure, 'script') } },
    });
    const { run } = await api.ok('startRun', { body: { agent_id: agent.id, message: 'hello' } });
    const endedRun = await api.until(run.id, 'completed', 'failed');
    expect([endedRun.status, endedRun.error]).toEqual(['completed', null]);
    expect(spy.mock.calls.length).toBeGreaterThanOrEqual(3);
    expect(logEntries.filter(({ message }) => message === 'a job failed and will be retried')).toHaveLength(1);
  });
});
