/** The record of a sandbox: what is found and stored, and what another machine creates from it. */
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KnownEntry, RecordedEntry } from '../../../src/service/sandbox/record/entries.ts';
import { StoredFileMissingError } from '../../../src/service/sandbox/record/fetch.ts';
import type { Sandbox } from '../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { asOrdinaryUser } from '../../support/ordinary-user.ts';
import { sumOf } from '../../support/tar.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';

let root: string;
/** The stored files, and the keys that were opened. */
let stored: Map<string, Buffer>;
let opened: string[];
let here: Sandbox;
let there: Sandbox;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'aops-record-'));
  stored = new Map();
  opened = [];
  here = await new SandboxStore(path.join(root, 'here')).create('s');
  there = await new SandboxStore(path.join(root, 'there')).create('s');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const signal = new AbortController().signal;

async function put(data: Uint8Array | AsyncIterable<Uint8Array>) {
  const chunks: Uint8Array[] = [];
  for await (const chunk of data instanceof Uint8Array ? [data] : data) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const key = `key-${stored.size + 1}`;
  stored.set(key, bytes);
  return { key, size: bytes.length, sha256: sumOf(bytes) };
}

async function open(key: string, { start, end }: { start: number; end: number }) {
  opened.push(key);
  const bytes = stored.get(key);
  return (
    bytes &&
    (async function* () {
      yield bytes.subarray(start, end + 1);
    })()
  );
}

const nothing: ReadonlyMap<string, KnownEntry> = new Map();
const capture = (known = nothing) => here.capture(known, put);
const knownFrom = ({ entries }: { entries: KnownEntry[] }) => new Map(entries.map((item) => [item.entry.path, item]));
const captured = async (): Promise<RecordedEntry[]> => (await capture()).entries.map(({ entry }) => entry);
const restore = (record: RecordedEntry[], known = nothing) => there.restore(record, { open, signal, known });
const inFolder = (sandbox: Sandbox, name: string): string => path.join(sandbox.directory, '..', name);
const pathsOf = (entries: readonly { path: string }[]): string[] => entries.map((entry) => entry.path).sort();

describe('a sandbox on another machine', () => {
  it('has the same files, permissions, times, and links', async () => {
    const names = [
      'workspace/a/small.txt',
      'workspace/a/large.bin',
      'workspace/empty',
      'home/.session/s.json',
      'browser/state.json',
      'tmp/x',
    ];
    for (const name of names) {
      await mkdir(path.dirname(inFolder(here, name)), { recursive: true });
      await writeFile(inFolder(here, name), name === 'workspace/empty' ? '' : name.endsWith('.bin') ? Buffer.alloc(300_000, 7) : name);
      await utimes(inFolder(here, name), 1_700_000_000.123, 1_700_000_000.123);
    }
    await chmod(inFolder(here, 'workspace/a/small.txt'), 0o755);
    await symlink('a/small.txt', inFolder(here, 'workspace/relative'));
    await symlink(inFolder(here, 'workspace/a/small.txt'), inFolder(here, 'workspace/a/absolute'));
    await symlink('/etc/hostname', inFolder(here, 'workspace/outside'));
    await chmod(inFolder(here, 'workspace/a'), 0o500);
    await utimes(inFolder(here, 'workspace/a'), 1_600_000_000, 1_600_000_000);
    await restore(await captured());
    for (const name of [...names, 'workspace/a']) {
      const [original, copy] = await Promise.all([here, there].map((sandbox) => lstat(inFolder(sandbox, name))));
      expect([name, copy?.mode, copy?.mtime]).toEqual([name, original?.mode, original?.mtime]);
      if (copy?.isFile()) expect(await readFile(inFolder(there, name))).toEqual(await readFile(inFolder(here, name)));
    }
    // A link into the sandbox leads into the one on this machine.
    expect(await readFile(inFolder(there, 'workspace/a/absolute'), 'utf8')).toBe('workspace/a/small.txt');
    expect(await readlink(inFolder(there, 'workspace/a/absolute'))).toBe('small.txt');
    expect(await readlink(inFolder(there, 'workspace/outside'))).toBe('/etc/hostname');
    for (const sandbox of [here, there]) await chmod(inFolder(sandbox, 'workspace/a'), 0o700);
  });

  it('keeps files with the same content, and loses everything else', async () => {
    await here.write('same', Buffer.from('same'));
    await here.write('changed', Buffer.from('new'));
    await here.write('folder/inner', Buffer.from('x'));
    const record = await captured();
    await there.write('same', Buffer.from('same'));
    await there.write('changed', Buffer.from('old'));
    await there.write('other/inner', Buffer.from('y'));
    // What is a folder in the record was something else.
    await symlink('/etc', inFolder(there, 'workspace/folder'));
    const before = await lstat(inFolder(there, 'workspace/same'));
    await restore(record);
    expect(await readdir(there.directory)).toEqual(['changed', 'folder', 'same']);
    expect(await readFile(inFolder(there, 'workspace/changed'), 'utf8')).toBe('new');
    expect((await lstat(inFolder(there, 'workspace/same'))).ino).toBe(before.ino);
    expect((await lstat(inFolder(there, 'workspace/folder'))).isDirectory()).toBe(true);
    expect(await readdir(inFolder(there, 'staging'))).toEqual([]);
  });

  it('keeps links that lead to the same place, and replaces pipes by folders', async () => {
    for (const [name, target] of [
      ['same', 'a'],
      ['moved', 'b'],
    ] as const)
      await symlink(target, inFolder(here, `workspace/${name}`));
    await here.write('folder/inner', Buffer.from('x'));
    for (const name of ['same', 'moved']) await symlink('a', inFolder(there, `workspace/${name}`));
    execFileSync('mkfifo', [inFolder(there, 'workspace/folder')]);
    const before = await lstat(inFolder(there, 'workspace/same'));
    await restore(await captured());
    expect((await lstat(inFolder(there, 'workspace/same'))).ino).toBe(before.ino);
    expect(await readlink(inFolder(there, 'workspace/moved'))).toBe('b');
    expect(await readFile(inFolder(there, 'workspace/folder/inner'), 'utf8')).toBe('x');
  });

  it('keeps the caches of its agent, and is not created from them', async () => {
    for (const sandbox of [here, there]) {
      await mkdir(inFolder(sandbox, 'home/.cache/x'), { recursive: true });
      await mkdir(inFolder(sandbox, 'browser/downloads'), { recursive: true });
    }
    const record = await captured();
    expect(pathsOf(record)).toEqual(['browser', 'home', 'workspace']);
    await restore(record);
    expect(await readdir(inFolder(there, 'home/.cache'))).toEqual(['x']);
    expect(await readdir(inFolder(there, 'browser'))).toEqual(['downloads']);
  });

  it('is not created from bytes that are damaged, or no longer stored', async () => {
    await here.write('a', Buffer.from('original'));
    const record = await captured();
    stored.set('key-1', Buffer.from('damaged!'));
    await expect(restore(record)).rejects.toThrow('The stored bytes of "workspace/a" are damaged.');
    stored.clear();
    await expect(restore(record)).rejects.toBeInstanceOf(StoredFileMissingError);
    expect(await readdir(there.directory)).toEqual([]);
  });
});

describe('the files that are stored', () => {
  it('are those that have changed, and small ones are stored together', async () => {
    for (let index = 0; index < 100; index++) await here.write(`files/${index}`, Buffer.from(`file ${index}`));
    const first = await capture();
    expect([first.keys, first.removed, stored.size]).toEqual([['key-1'], [], 1]);
    const known = knownFrom(first);
    await here.write('files/7', Buffer.from('changed'));
    await rm(inFolder(here, 'workspace/files/8'));
    const second = await capture(known);
    const changed = second.entries.filter(({ entry }) => entry.type === 'file' && entry.stored?.key !== 'key-1');
    expect([pathsOf(changed.map(({ entry }) => entry)), second.removed]).toEqual([['workspace/files/7'], ['workspace/files/8']]);
    expect(stored.get('key-2')?.toString()).toBe('changed');
    // One range contains all files of the first pack.
    await restore([...known.values()].map(({ entry }) => entry));
    expect([opened, (await readdir(inFolder(there, 'workspace/files'))).length]).toEqual([['key-1'], 100]);
  });

  it('are not read again if nothing has changed', async () => {
    await here.write('a/b', Buffer.from('b'));
    const record = await captured();
    const known = await restore(record);
    const { entries, removed, keys } = await there.capture(known, put);
    expect({ entries, removed, keys }).toEqual({ entries: [], removed: [], keys: [] });
    expect([...known.values()].filter(({ stamp }) => stamp !== undefined).map(({ entry }) => entry.path)).toEqual(['workspace/a/b']);
    // The same content at another time is recorded, but not stored.
    await utimes(inFolder(there, 'workspace/a/b'), 1, 1);
    const touched = await there.capture(known, put);
    expect(touched.entries.map(({ entry }) => entry)).toMatchObject([{ path: 'workspace/a/b', modifiedAt: 1_000 }]);
    expect(touched.keys).toEqual([]);
  });

  it('are recorded again if only their permissions, or those of a folder, change', async () => {
    await here.write('a/b', Buffer.from('b'));
    await here.write('empty', Buffer.from(''));
    await here.write('large', Buffer.alloc(300_000, 'x'));
    const known = await restore(await captured());
    for (const name of ['a', 'a/b', 'large']) await chmod(inFolder(there, `workspace/${name}`), 0o755);
    const { entries, keys } = await there.capture(known, put);
    expect(entries.map(({ entry }) => [entry.path, 'mode' in entry && entry.mode])).toEqual([
      ['workspace/a', 0o755],
      ['workspace/a/b', 0o755],
      ['workspace/large', 0o755],
    ]);
    expect(keys).toEqual([]);
  });

  it('include links whose target has changed, and no others', async () => {
    for (const name of ['same', 'moved']) await symlink('a', inFolder(here, `workspace/${name}`));
    const known = knownFrom(await capture());
    await rm(inFolder(here, 'workspace/moved'));
    await symlink('b', inFolder(here, 'workspace/moved'));
    const links = (await capture(known)).entries.filter(({ entry }) => entry.type === 'link');
    expect(links.map(({ entry }) => entry)).toMatchObject([{ path: 'workspace/moved', target: 'b' }]);
  });

  it('are stored in packs of limited size, and an empty one in none', async () => {
    const content = Buffer.alloc(100 * 1_024, 'x');
    await here.write('0', Buffer.from(''));
    for (let index = 1; index <= 60; index++) await here.write(String(index), Buffer.concat([content, Buffer.from(`${index}`)]));
    const { entries, keys } = await capture();
    expect(keys).toEqual(['key-1', 'key-2']);
    for (const bytes of stored.values()) expect(bytes.length).toBeLessThan(4.2 * 1_024 * 1_024);
    expect(entries.find(({ entry }) => entry.path === 'workspace/0')?.entry).toMatchObject({ size: 0, stored: null });
  });

  it('are fetched in parts if few of a pack are needed', async () => {
    const size = 100 * 1_024;
    for (let index = 10; index < 30; index++) await here.write(String(index), Buffer.alloc(size, String(index)));
    const record = await captured();
    const ranges: [start: number, end: number][] = [];
    const needed = record.filter(({ type, path }) => type !== 'file' || ['10', '11', '29'].some((name) => path.endsWith(`/${name}`)));
    await there.restore(needed, {
      open: async (key, range) => {
        ranges.push([range.start, range.end]);
        return open(key, range);
      },
      signal,
      known: nothing,
    });
    expect(ranges).toEqual([
      [0, 2 * size - 1],
      [19 * size, 20 * size - 1],
    ]);
  });

  it('are compared with what is known of them, and fetched only if they differ', async () => {
    for (const name of ['same', 'other']) await here.write(name, Buffer.from(name));
    const known = await restore(await captured());
    opened = [];
    await here.write('other', Buffer.from('OTHER'));
    const record = (await capture()).entries.map(({ entry }) => entry);
    await restore(
      record.filter(({ path }) => !path.endsWith('/other')),
      known,
    );
    expect(opened).toEqual([]);
    await restore(record, known);
    expect(opened).toHaveLength(1);
    expect(await readFile(inFolder(there, 'workspace/other'), 'utf8')).toBe('OTHER');
  });

  it('replace those in folders to which their owner has no access', async () => {
    await here.write('closed/a', Buffer.from('new'));
    const record = await captured();
    await there.write('closed/a', Buffer.from('old'));
    await there.write('closed/below/b', Buffer.from('not recorded'));
    for (const name of ['closed/below', 'closed']) await chmod(path.join(there.directory, name), 0);
    await asOrdinaryUser(root, () => restore(record));
    expect(await readFile(path.join(there.directory, 'closed/a'), 'utf8')).toBe('new');
    expect(await readdir(path.join(there.directory, 'closed'))).toEqual(['a']);
  });

  it('may be none: the folders of the sandbox remain', async () => {
    await there.write('a', Buffer.from('a'));
    await restore([]);
    expect(await readdir(inFolder(there, 'workspace'))).toEqual([]);
  });

  it.each(['mkdir', 'mkfifo'])('are not recorded if something else has taken their place (%s)', async (program) => {
    await here.write('a', Buffer.alloc(300_000, 'x'));
    const place = inFolder(here, 'workspace/a');
    onDiskCall('before', 'open', place, async () => {
      await rm(place);
      execFileSync(program, [place]);
    });
    const { entries, unreadable } = await capture();
    expect([pathsOf(entries.map(({ entry }) => entry)), unreadable]).toEqual([['workspace'], []]);
  });

  it('are recorded completely or not at all if the service itself fails to open one', async () => {
    await here.write('large', Buffer.alloc(300_000, 'x'));
    const place = inFolder(here, 'workspace/large');
    const failure = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
    onDiskCall('before', 'open', place, failure('EMFILE'));
    await expect(capture()).rejects.toThrow('EMFILE');
    onDiskCall('before', 'open', place, failure('EACCES'));
    expect((await capture()).unreadable).toEqual(['workspace/large']);
    expect(pathsOf(await captured())).toContain('workspace/large');
  });

  it('stay in the record while they cannot be read, and nothing else does', async () => {
    for (const name of ['closed/inside', 'closed-not/inside', 'secret', 'gone']) await here.write(name, Buffer.from(name));
    const known = knownFrom(await capture());
    await Promise.all(['closed-not/inside', 'gone'].map((name) => rm(path.join(here.directory, name))));
    await writeFile(path.join(here.directory, 'secret'), 'changed');
    for (const name of ['closed', 'secret']) await chmod(path.join(here.directory, name), 0);
    const { removed, unreadable } = await asOrdinaryUser(root, () => capture(known));
    expect(removed).toEqual(['workspace/closed-not/inside', 'workspace/gone']);
    expect(unreadable).toEqual(['workspace/closed', 'workspace/secret']);
  });

  it('are inside of the sandbox, and have names that everybody can read', async () => {
    await here.write('a', Buffer.from('a'));
    await writeFile(Buffer.from(`${here.directory}/\xff`, 'latin1'), 'not UTF-8');
    const { entries, unreadable } = await capture();
    expect(pathsOf(entries.map(({ entry }) => entry))).toEqual(['workspace', 'workspace/a']);
    expect(unreadable).toEqual(['workspace/\uFFFD']);
  });
});
