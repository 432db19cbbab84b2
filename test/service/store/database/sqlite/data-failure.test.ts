/** Errors about a data directory with which no service can be started. */
import { describe, expect, it } from 'vitest';
import { dataFailure } from '../../../../../src/service/store/database/sqlite/data-failure.ts';

const sqliteError = (rawCode: number, message: string) =>
  Object.assign(new Error(message), { code: `UNKNOWN_SQLITE_ERROR_${rawCode}`, rawCode });

describe('extended codes of SQLite that the driver has no name for', () => {
  it('are reported by their cause: a folder without write permission, a read-only disk, a full disk, a damaged file', () => {
    const failureOf = (rawCode: number) => dataFailure(sqliteError(rawCode, 'as SQLite says it'), '/data');
    expect(failureOf(1544)).toMatchObject({ code: 'not_writable', message: 'You are not allowed to write /data/aops.db.' });
    expect(failureOf(1032)).toMatchObject({ code: 'not_writable', message: '/data/aops.db is on a read-only disk.' });
    expect(failureOf(13)).toMatchObject({ code: 'disk_full' });
    expect(failureOf(779)).toMatchObject({ code: 'data_directory_damaged' });
    expect(failureOf(1)).toMatchObject({ message: 'as SQLite says it' });
  });
});
