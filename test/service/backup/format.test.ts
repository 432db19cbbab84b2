/** What the description, the names, and the checksums of a backup may be. */
import { describe, expect, it } from 'vitest';
import { checkName, parseInfo, parseSums, sumLine } from '../../../src/service/backup/format.ts';
import { info } from './archives.ts';

const schemas = ['0001-core', '0002-webhooks'];
const damagedError = (message: RegExp) => expect.objectContaining({ code: 'backup_damaged', message: expect.stringMatching(message) });
const thrownBy = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('the description of a backup', () => {
  it.each(['0001-core', '0002-webhooks'])('is accepted with the schema %s', (schema) => {
    expect(parseInfo(JSON.stringify({ ...info, schema }), schemas)).toEqual({ ...info, schema });
  });

  it.each([
    ['text', 'hello'],
    ['empty', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['a string', '"1"'],
    ['without a format', JSON.stringify({ ...info, format: undefined })],
    ['with a format that is not a number', JSON.stringify({ ...info, format: '1' })],
    ['with a format that is not whole', JSON.stringify({ ...info, format: 1.5 })],
    ['without a version', JSON.stringify({ ...info, version: undefined })],
    ['with a version that is not text', JSON.stringify({ ...info, version: 1 })],
    ['without a schema', JSON.stringify({ ...info, schema: undefined })],
    ['with a schema that is not text', JSON.stringify({ ...info, schema: null })],
  ])('is rejected if it is %s', (_, text) => {
    expect(thrownBy(() => parseInfo(text, schemas))).toEqual(damagedError(/description cannot be read/));
  });

  it('of a newer version names that version', () => {
    for (const [changes, label] of [
      [{ format: 3 }, 'format 3'],
      [{ schema: '0003-future' }, 'schema 0003-future'],
    ] as const)
      expect(thrownBy(() => parseInfo(JSON.stringify({ ...info, ...changes }), schemas))).toMatchObject({
        code: 'backup_newer',
        message: `The backup was written by a newer version of aops, 9.9.9 (it has ${label}).`,
      });
  });
});

describe('the names in a backup', () => {
  it.each([
    ['aops.db', 'file'],
    ['secrets.key', 'file'],
    ['token', 'file'],
    ['files/run-1/file_2', 'file'],
    [`files/${'r'.repeat(128)}/f`, 'file'],
    ['sandboxes/a/workspace', 'folder'],
    ['sandboxes/a/tmp', 'folder'],
    ['sandboxes/a/browser', 'folder'],
    ['sandboxes/a/workspace/x', 'file'],
    ['sandboxes/a/workspace/x', 'link'],
    ['sandboxes/a/workspace/x/y z/ü…', 'folder'],
  ] as const)('can be %s, for a %s', (name, type) => {
    expect(thrownBy(() => checkName(name, type))).toBeUndefined();
  });

  it.each([
    // Files next to the database: no others, no other types, and nothing inside of them.
    ['service.json', 'file'],
    ['aops-backup.json', 'file'],
    ['SHA256SUMS', 'file'],
    ['', 'file'],
    ['aops.db', 'folder'],
    ['token', 'link'],
    ['token/x', 'file'],
    ['token/x/y', 'file'],
    // Files of runs.
    ['files', 'folder'],
    ['files/run', 'file'],
    ['files/run', 'folder'],
    ['files/run/file', 'folder'],
    ['files/run/file', 'link'],
    ['files/run/file/more', 'file'],
    ['other/run/file', 'file'],
    ['files/-run/file', 'file'],
    ['files/run/.file', 'file'],
    ['files/run/fi le', 'file'],
    [`files/${'r'.repeat(129)}/f`, 'file'],
    // Sandboxes.
    ['sandboxes', 'folder'],
    ['sandboxes/a', 'folder'],
    ['sandboxes/a/workspace', 'file'],
    ['sandboxes/a/workspace', 'link'],
    ['sandboxes/a/uploads', 'folder'],
    ['sandboxes/a/uploads/x', 'file'],
    ['sandboxes/.a/workspace/x', 'file'],
    ['other/a/workspace/x', 'file'],
    // Parts that are special for the file system.
    ['/aops.db', 'file'],
    ['sandboxes//workspace/x', 'file'],
    ['sandboxes/a/workspace//x', 'file'],
    ['sandboxes/a/workspace/', 'folder'],
    ['sandboxes/a/workspace/./x', 'file'],
    ['sandboxes/a/workspace/../x', 'file'],
    ['sandboxes/../workspace/x', 'file'],
    ['sandboxes/a/workspace/x\0y', 'file'],
  ] as const)('cannot be %j, for a %s', (name, type) => {
    expect(thrownBy(() => checkName(name, type))).toEqual(damagedError(/a backup contains no (file|folder|link) named "/));
  });
});

describe('the checksums of a backup', () => {
  const sum = 'a'.repeat(64);

  it.each(['aops.db', 'a b', ' a', 'back\\slash', 'line\nbreak', 'carriage\rreturn', '\\n', '\\\\\n'])('keep the name %j', (name) => {
    const line = sumLine(sum, name);
    expect(line.split('\n')).toHaveLength(2);
    expect(parseSums(line + sumLine('b'.repeat(64), 'other'))).toEqual(
      new Map([
        [name, sum],
        ['other', 'b'.repeat(64)],
      ]),
    );
  });

  it('are written as `sha256sum` writes them', () => {
    expect(sumLine(sum, 'plain')).toBe(`${sum}  plain\n`);
    expect(sumLine(sum, 'a\\b\nc\rd')).toBe(`\\${sum}  a\\\\b\\nc\\rd\n`);
  });

  it('can be those of files read in binary mode, and no text at all', () => {
    expect(parseSums(`${sum} *aops.db\n`)).toEqual(new Map([['aops.db', sum]]));
    expect(parseSums('')).toEqual(new Map());
  });

  it('contain escaped names only in lines that begin with a backslash', () => {
    expect(parseSums(`${sum}  a\\nb\n\\${sum}  c\\nd\n`)).toEqual(
      new Map([
        ['a\\nb', sum],
        ['c\nd', sum],
      ]),
    );
  });

  it.each([
    'aops.db',
    `${sum}`,
    `${sum}  `,
    `${sum} aops.db`,
    `${sum.slice(1)}  aops.db`,
    `${sum.toUpperCase()}  aops.db`,
    ` ${sum}  aops.db`,
  ])('cannot be %j', (line) => {
    expect(thrownBy(() => parseSums(`${line}\n`))).toEqual(damagedError(/checksums cannot be read/));
  });
});
