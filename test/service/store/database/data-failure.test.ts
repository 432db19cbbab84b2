/** What is said of a data directory on which no service can be started. */
import { describe, expect, it } from 'vitest';
import { dataFailure } from '../../../../src/service/store/database/data-failure.ts';

const sqliteError = (rawCode: number, message: string) =>
  Object.assign(new Error(message), { code: `UNKNOWN_SQLITE_ERROR_${rawCode}`, rawCode });

describe('extended codes of SQLite that the driver has no name for', () => {
  it('are told as what they are: a folder that may not be written, a read-only disk, a full one, a damaged file', () => {
    const said = (rawCode: number) => dataFailure(sqliteError(rawCode, 'as SQLite says it'), '/data');
    expect(said(1544)).toMatchObject({ code: 'not_writable', message: '/data/aops.db may not be written.' });
    expect(said(1032)).toMatchObject({ code: 'not_writable', message: '/data/aops.db is on a disk that is read-only.' });
    expect(said(13)).toMatchObject({ code: 'disk_full' });
    expect(said(779)).toMatchObject({ code: 'data_directory_damaged' });
    expect(said(1)).toMatchObject({ message: 'as SQLite says it' });
  });
});
