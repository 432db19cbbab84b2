/** Files that the system refuses to write: what is reported, and what to do about it. */
import { expect, it } from 'vitest';
import { AopsError } from '../../src/base/errors.ts';
import { writeFailure } from '../../src/base/write-failure.ts';

const refusal = (code: string) => Object.assign(new Error(code), { code, syscall: 'open' });

it.each([
  ['ENOSPC', 'disk_full', 'There is no space left on the disk to write /a/b.', 'Free some space, or choose a folder on another disk.'],
  ['EDQUOT', 'disk_full', 'Your disk quota is used up, so /a/b cannot be written.', 'Free some space, or choose a folder on another disk.'],
  ['EFBIG', 'not_writable', '/a/b is too large for its file system.', 'Choose a folder on another disk.'],
  ['EACCES', 'not_writable', 'You are not allowed to write /a/b.', 'Check the permissions of its folder, or choose another one.'],
  ['EPERM', 'not_writable', 'You are not allowed to write /a/b.', 'Check the permissions of its folder, or choose another one.'],
  ['EROFS', 'not_writable', '/a/b is on a read-only disk.', 'Choose another folder.'],
  ['ENOTDIR', 'not_writable', '/a/b cannot be written, because a part of its path is not a folder.', 'Choose another folder.'],
  ['ENAMETOOLONG', 'not_writable', 'The path /a/b is too long for this system.', 'Choose a folder with a shorter path.'],
])('%s is explained', (code, word, message, hint) => {
  const error = refusal(code);
  expect(writeFailure(error, '/a/b')).toMatchObject({ code: word, exit: 1, message, hint, cause: error });
  // Of what the user has not chosen, the variable is named.
  const variableHint = hint.replace('choose', 'set AOPS_DATA_DIR to').replace('Choose', 'Set AOPS_DATA_DIR to');
  expect(writeFailure(error, '/a/b', 'AOPS_DATA_DIR')).toMatchObject({ message, hint: variableHint });
});

it('a file in the place of a folder is explained, but not a file that exists already', () => {
  const error = (syscall: string) => Object.assign(new Error('EEXIST'), { code: 'EEXIST', syscall });
  expect(writeFailure(error('mkdir'), '/a/b')).toMatchObject({ message: expect.stringContaining('a part of its path is not a folder') });
  const existing = error('open');
  expect(writeFailure(existing, '/a/b')).toBe(existing);
});

it('other errors are returned unchanged', () => {
  const withoutCall = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
  const known = new AopsError('Known.', { code: 'known', exit: 1 });
  for (const error of [refusal('EOTHER'), withoutCall, known, 'text']) expect(writeFailure(error, '/a/b')).toBe(error);
});
