import { lstat, mkdir, writeFile as put, readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareTarget, safeParts, writeFile } from '../../src/client/local-files.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { failureOf } from './harness.ts';

async function* bytes(...pieces: string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half');
  throw new Error('broken off');
}

describe('a name from the service', () => {
  it.each([
    ['a', ['a']],
    ['a/b c/d.txt', ['a', 'b c', 'd.txt']],
    ['./a//b', ['a', 'b']],
    ['.hidden', ['.hidden']],
    ['...a', ['...a']],
    ['12:30 log', ['12:30 log']],
    ['コンソール', ['コンソール']],
  ])('%j is safe', (name, parts) => expect(safeParts(name)).toEqual(parts));

  it.each([
    '',
    '.',
    '/',
    '/etc/passwd',
    '..',
    '../x',
    'a/../b',
    'a/..',
    'a\\b',
    '..\\x',
    '\\\\host\\share',
    'C:/x',
    'c:x',
    'a\0b',
    'a\nb',
    'a\x1b[0m',
    'con',
    'CON.txt',
    'a/nul',
    'com1',
    'LPT9.log',
    'a.',
    'a ',
    'a./b',
    `${'é'.repeat(128)}`,
  ])('%j is refused', (name) => expect(() => safeParts(name)).toThrow(expect.objectContaining({ code: 'unsafe_name' })));
});

describe('a target', () => {
  it('gets its folders', async () => {
    const root = path.join(await temporaryFolder(), 'new');
    const target = await prepareTarget(root, 'a/b/c.txt');
    expect(target).toBe(path.join(root, 'a/b/c.txt'));
    expect((await lstat(path.dirname(target))).isDirectory()).toBe(true);
    expect(await prepareTarget(root, 'a/b/d.txt')).toBe(path.join(root, 'a/b/d.txt'));
  });

  it('is never reached through a link or a file', async () => {
    const root = await temporaryFolder();
    const outside = await temporaryFolder();
    await symlink(outside, path.join(root, 'link'));
    await put(path.join(root, 'file'), '');
    for (const name of ['link/x', 'link/deep/x', 'file/x']) {
      expect(await failureOf(prepareTarget(root, name))).toMatchObject({ exit: 2, message: expect.stringContaining('is not a directory') });
    }
    expect(await readdir(outside)).toEqual([]);
  });
});

describe('writing', () => {
  it('puts the whole content there, and nothing beside it', async () => {
    const folder = await temporaryFolder();
    const target = path.join(folder, 'a');
    expect(await writeFile(target, bytes('one ', '', 'two'), false)).toBe(7);
    expect(await readFile(target, 'utf8')).toBe('one two');
    expect(await writeFile(path.join(folder, 'empty'), bytes(), false)).toBe(0);
    expect(await readdir(folder)).toEqual(['a', 'empty']);
  });

  it('leaves a file that is there alone, unless replacing it is allowed', async () => {
    const folder = await temporaryFolder();
    const target = path.join(folder, 'a');
    await put(target, 'mine');
    expect(await failureOf(writeFile(target, bytes('theirs'), false))).toMatchObject({ exit: 2, hint: expect.stringContaining('--force') });
    expect(await readFile(target, 'utf8')).toBe('mine');
    await writeFile(target, bytes('theirs'), true);
    expect(await readFile(target, 'utf8')).toBe('theirs');
  });

  it('that breaks off leaves what was there before, and no part of the new', async () => {
    const folder = await temporaryFolder();
    const target = path.join(folder, 'a');
    expect(await failureOf(writeFile(target, broken(), false))).toMatchObject({ message: 'broken off' });
    expect(await readdir(folder)).toEqual([]);
    await put(target, 'mine');
    await failureOf(writeFile(target, broken(), true));
    expect(await readdir(folder)).toEqual(['a']);
    expect(await readFile(target, 'utf8')).toBe('mine');
  });

  it('never goes through a link, nor replaces one or a folder', async () => {
    const folder = await temporaryFolder();
    const outside = path.join(await temporaryFolder(), 'victim');
    await put(outside, 'safe');
    await symlink(outside, path.join(folder, 'link'));
    await symlink(path.join(folder, 'nowhere'), path.join(folder, 'dangling'));
    await mkdir(path.join(folder, 'folder'));
    for (const name of ['link', 'dangling', 'folder']) {
      expect(await failureOf(writeFile(path.join(folder, name), bytes('x'), true))).toMatchObject({
        exit: 2,
        hint: expect.stringContaining('not a plain file'),
      });
    }
    expect(await readFile(outside, 'utf8')).toBe('safe');
    expect(await readdir(folder)).toEqual(['dangling', 'folder', 'link']);
  });

  it('copes with the longest name there may be', async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'n'.repeat(255)), bytes('x'), false);
    expect(await readdir(folder)).toEqual(['n'.repeat(255)]);
    const wide = 'é'.repeat(127);
    await writeFile(path.join(folder, wide), bytes('x'), false);
    expect(await readFile(path.join(folder, wide), 'utf8')).toBe('x');
  });
});
