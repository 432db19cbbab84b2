/** Faults of downloads, through the command line. None of them leaves a partial file, or a file in the wrong place. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile as put, readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptedServer } from '../client/harness.ts';
import { stopwatch } from '../support/promptly.ts';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { answer, json, partial, type RawServer, reply, type Step } from './raw-server.ts';

const run = '00000000-0000-4000-8000-000000000001';
const secret = 'aops-test-key-7c1f';
const tagHeaders = { etag: '"v1"' };

interface Entry {
  path: string;
  /** Absent for a folder. */
  size?: number;
}

/** The answer of the service for a file: its text, or the URL of its bytes. */
interface Content {
  text?: string;
  url?: string;
  size?: number;
}

/** A service with these listings by folder, and these files by path. */
async function fakeService(folders: Record<string, Entry[]>, files: Record<string, Content> = {}): Promise<RawServer> {
  const entryOf = ({ path: file, size }: Entry) => ({
    name: path.posix.basename(file),
    path: file,
    type: size === undefined ? 'directory' : 'file',
    size: size ?? 0,
    modified_at: null,
    isTextFile: true,
  });
  const route = ({ path: target }: { path: string }): Step => {
    const { pathname, searchParams } = new URL(target, 'http://localhost');
    const place = searchParams.get('path') ?? '';
    if (pathname === `/v2/runs/${run}/sandbox/files`) {
      const entries = folders[place];
      if (entries === undefined) return json(400, { error: 'not_a_directory', message: `${place} is not a directory.` });
      return json(200, { data: { sandboxStatus: 'running', path: place, entries: entries.map(entryOf) } });
    }
    const file = pathname === `/v2/runs/${run}/sandbox/files/content` ? files[place] : undefined;
    if (file === undefined) return json(404, { error: 'file_not_found', message: `There is no ${place}.` });
    const { text = null, url = null, size = Buffer.byteLength(text ?? '') } = file;
    return json(200, {
      data: { sandboxStatus: 'running', path: place, isTextFile: text !== null, content: text, size, truncated: false, download_url: url },
    });
  };
  return (await scriptedServer()).always(reply(route));
}

/** One file of ten bytes behind a signed URL. */
const oneFile = (storage: RawServer): Promise<RawServer> =>
  fakeService(
    { '/workspace': [{ path: '/workspace/a.bin', size: 10 }] },
    { '/workspace/a.bin': { url: `${storage.url}/a?signature=s3cr3t`, size: 10 } },
  );

interface PullResult extends CliResult {
  /** The contents of the target folder by path; links as `-> target`. */
  files: Record<string, string>;
}

/** Pulls everything into `out`, next to a folder `outside`, and returns what is there. */
async function pull(
  service: RawServer,
  {
    prepare,
    argv = [],
    ...options
  }: CliOptions & { prepare?: (out: string, outsideFolder: string) => Promise<unknown>; argv?: string[] } = {},
): Promise<PullResult> {
  const folder = await temporaryFolder();
  const [out, outside] = [path.join(folder, 'out'), path.join(folder, 'outside')];
  await mkdir(out);
  await mkdir(outside);
  await put(path.join(outside, 'victim'), 'safe');
  await prepare?.(out, outside);
  const env = { ...folderEnv(folder), AOPS_API_KEY: secret, AOPS_BASE_URL: service.url };
  const result = await runCli(['sandbox', 'pull', run, '--to', 'out', ...argv], { cwd: folder, ...options, env });
  // Nothing was written outside, neither where links lead nor next to the folder.
  expect(await readdir(outside)).toEqual(['victim']);
  expect(await readFile(path.join(outside, 'victim'), 'utf8')).toBe('safe');
  expect((await readdir(folder)).filter((name) => !['cache', 'config', 'data', 'home'].includes(name)).sort()).toEqual(['out', 'outside']);
  const files = await readWritten(out);
  expect(Object.keys(files).filter((name) => name.endsWith('.part'))).toEqual([]);
  expect(result.stdout + result.stderr).not.toMatch(new RegExp(`${secret}|s3cr3t`));
  return { ...result, files };
}

/** The contents of a folder: the texts of files, and arrows for links, which a recursive listing in Node 26 would follow. */
async function readWritten(folder: string, prefix = ''): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) Object.assign(files, await readWritten(file, `${prefix}${entry.name}/`));
    else files[`${prefix}${entry.name}`] = entry.isSymbolicLink() ? '->' : await readFile(file, 'utf8');
  }
  return files;
}

describe('a download', () => {
  const firstHalf = (headers: Record<string, string> = tagHeaders) => partial(200, 10, '01234', 'reset', headers);
  const secondHalf = (headers: Record<string, string> = {}) =>
    answer(206, '56789', { ...tagHeaders, 'content-range': 'bytes 5-9/10', ...headers });
  const wholeAnswer = (headers: Record<string, string> = tagHeaders) => answer(200, '0123456789', headers);

  it.each<[string, Step[], (string | undefined)[]]>([
    ['reset at 50 %, with a strong tag, is resumed', [firstHalf(), secondHalf()], [undefined, 'bytes=5-']],
    ['reset at 50 %, with a weak tag, begins again', [firstHalf({ etag: 'W/"v1"' }), wholeAnswer()], [undefined, undefined]],
    ['reset at 50 %, without a tag, begins again', [firstHalf({}), wholeAnswer()], [undefined, undefined]],
    ['answered with 200 instead of 206 begins again', [firstHalf(), wholeAnswer()], [undefined, 'bytes=5-']],
    [
      'whose tag changes between attempts begins again',
      [firstHalf(), secondHalf({ etag: '"v2"' }), wholeAnswer({ etag: '"v2"' })],
      [undefined, 'bytes=5-', undefined],
    ],
    [
      'answered with another part begins again',
      [firstHalf(), secondHalf({ 'content-range': 'bytes 0-4/10' }), wholeAnswer()],
      [undefined, 'bytes=5-', undefined],
    ],
  ])('%s', async (_, steps, ranges) => {
    const storage = await scriptedServer(...steps);
    const pullResult = await pull(await oneFile(storage));
    expect(pullResult).toMatchObject({ code: 0, stderr: '', files: { 'a.bin': '0123456789' } });
    expect(storage.header('range')).toEqual(ranges);
    expect(storage.header('authorization')).toEqual(ranges.map(() => undefined));
  });

  it.each<[string, Step, string]>([
    ['of another length', answer(200, '012345678', tagHeaders), 'file_changed'],
    [
      'of another hash',
      wholeAnswer({ 'repr-digest': `sha-256=:${createHash('sha256').update('x').digest('base64')}:` }),
      'service_unavailable',
    ],
    ['that is redirected', answer(302, '', { location: 'http://127.0.0.1:1/' }), 'download_failed'],
    ['that is forbidden', answer(403, '<Error>s3cr3t</Error>'), 'download_failed'],
  ])('%s is an error', async (_, step, code) => {
    const storage = (await scriptedServer()).always(step);
    const pullResult = await pull(await oneFile(storage), { argv: ['--json'] });
    expect(pullResult.files).toEqual({});
    expect(pullResult.code).not.toBe(0);
    // Events about attempts precede it.
    expect(JSON.parse(pullResult.stderr.trimEnd().split('\n').at(-1) as string)).toMatchObject({ error: { code } });
  });

  it('of text that is shorter than its size is an error', async () => {
    const service = await fakeService({ '/workspace': [{ path: '/workspace/a', size: 5 }] }, { '/workspace/a': { text: 'abc', size: 5 } });
    expect(await pull(service)).toMatchObject({ code: 8, files: {}, stderr: expect.stringContaining('not the 5') });
  });

  it('is interrupted by Ctrl-C', async () => {
    const storage = await scriptedServer(partial(200, 10, '01234', 'stall', tagHeaders));
    const service = await oneFile(storage);
    let took = (): number => Number.NaN;
    const pullResult = await pull(service, {
      onStart: (interrupt) =>
        void storage
          .until(({ requests }) => requests.length === 1)
          .then(() => {
            took = stopwatch();
            interrupt();
          }),
    });
    expect(took()).toBeLessThan(250);
    expect(pullResult).toMatchObject({ code: 130, files: {} });
  });

  it('from another host without https is rejected', async () => {
    const service = await fakeService(
      { '/workspace': [{ path: '/workspace/a', size: 5 }] },
      { '/workspace/a': { url: 'http://storage.test/a?signature=s3cr3t', size: 5 } },
    );
    expect(await pull(service)).toMatchObject({ code: 1, files: {}, stderr: expect.stringContaining('not safe to use') });
  });
});

/** Whether two names are two files on this disk. */
async function distinguishes(name: string, otherName: string): Promise<boolean> {
  const folder = await temporaryFolder();
  await put(path.join(folder, name), '');
  return otherName === '' || !existsSync(path.join(folder, otherName));
}

describe('a tree', () => {
  const validFile = { path: '/workspace/fine', size: 3 };
  const text = { text: 'abc' };

  /** A service with these files, all of which contain the same, next to one with an ordinary name. */
  const serviceWith = (paths: readonly string[]): Promise<RawServer> =>
    fakeService(
      { '/workspace': [validFile, ...paths.map((file) => ({ path: file, size: 3 }))] },
      Object.fromEntries(['/workspace/fine', ...paths].map((file) => [file, text])),
    );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const controlCharacter = /[\u0000-\u0009\u000b-\u001f]/;

  it.each<[string, string[]]>([
    ['../x', ['/workspace/../x']],
    ['/etc/x', ['/etc/x']],
    ['a climbing folder', ['/workspace/a/../../x']],
    ['the same name twice', ['/workspace/a', '/workspace/a']],
  ])('with %s is rejected completely', async (_, paths) => {
    const service = await serviceWith(paths);
    const pullResult = await pull(service);
    expect(pullResult).toMatchObject({ code: 1, stdout: '', files: {} });
    expect(pullResult.stderr).toMatch(/^error: The service names .*\nhint: Nothing was written/);
    expect(service.requests.filter((request) => request.path.includes('/content'))).toEqual([]);
  });

  it.each<[string, string]>([
    ['a control character', '/workspace/a\u0007b'],
    ['an escape sequence', '/workspace/\u001b]52;c;eA==\u0007'],
    ['a name that is too long', `/workspace/${'x'.repeat(256)}`],
  ])('with %s is written without that file', async (_, name) => {
    const service = await serviceWith([name]);
    const pullResult = await pull(service);
    expect(pullResult).toMatchObject({ code: 1, files: { fine: 'abc' } });
    expect(pullResult.stderr).toMatch(/^error: 1 of 2 files was not written because of its name: .*\nhint: Save such a file/);
    expect(pullResult.stderr).not.toMatch(controlCharacter);
    expect(service.requests.filter((request) => request.path.includes('/content'))).toHaveLength(1);
  });

  it.each<[string, string[]]>([
    ['a name with a backslash', ['..\\x']],
    ['a trailing dot', ['a.']],
    ['a reserved name', ['aux.txt']],
    ['letters of another size', ['a', 'A']],
    ['another normal form', ['caf\u00e9', 'cafe\u0301']],
    ['a file and a folder of one name', ['a', 'A/b']],
  ])('with %s is written completely if the disk allows it', async (_, names) => {
    const isAllowed = await distinguishes(names[0] as string, (names[1] ?? '').split('/')[0] as string);
    const pullResult = await pull(await serviceWith(names.map((name) => `/workspace/${name}`)));
    const written = isAllowed ? names : names.slice(0, 1);
    expect(pullResult.code).toBe(written.length === names.length ? 0 : 1);
    expect(pullResult.files).toEqual(Object.fromEntries(['fine', ...written].map((name) => [name, 'abc'])));
  });

  it('with folders that contain themselves ends', async () => {
    const service = await fakeService({ '/workspace': [{ path: '/workspace/a' }], '/workspace/a': [{ path: '/workspace' }, validFile] });
    expect(await pull(service)).toMatchObject({ code: 1, files: {}, stderr: expect.stringContaining('contain one another') });
    expect(service.requests.length).toBeLessThan(5);
  });

  it('that is too deep ends', async () => {
    const folder = (depth: number): string => `/workspace${'/d'.repeat(depth)}`;
    const folders = Object.fromEntries(Array.from({ length: 80 }, (_, depth) => [folder(depth), [{ path: folder(depth + 1) }]]));
    const service = await fakeService(folders);
    expect(await pull(service)).toMatchObject({ code: 1, files: {}, stderr: expect.stringContaining('Pull a deeper folder') });
    expect(service.requests.length).toBeLessThan(70);
  });

  it('with too many files ends', async () => {
    const manyFiles = Array.from({ length: 100_001 }, (_, index) => ({ path: `/workspace/${index}`, size: 1 }));
    const service = await fakeService({ '/workspace': manyFiles });
    expect(await pull(service)).toMatchObject({ code: 1, files: {}, stderr: expect.stringContaining('more than 100,000') });
    // An archive, which the service does not offer, and the list.
    expect(service.requests).toHaveLength(2);
  });

  it.each<[string, (out: string, outsideFolder: string) => Promise<unknown>, Record<string, string>]>([
    ['a folder is a link', (out, outsideFolder) => symlink(outsideFolder, path.join(out, 'sub')), { sub: '->' }],
    ['a folder is a file', (out) => put(path.join(out, 'sub'), 'mine'), { sub: 'mine' }],
    [
      'a file is a link',
      async (out, outsideFolder) => {
        await mkdir(path.join(out, 'sub'));
        await symlink(path.join(outsideFolder, 'victim'), path.join(out, 'sub/b'));
      },
      { 'sub/b': '->' },
    ],
  ])('where %s is not written, even with --force', async (_, prepare, remainingFiles) => {
    const service = await fakeService(
      { '/workspace': [validFile, { path: '/workspace/sub' }], '/workspace/sub': [{ path: '/workspace/sub/b', size: 3 }] },
      { '/workspace/fine': text, '/workspace/sub/b': text },
    );
    for (const argv of [[], ['--force']]) {
      const pullResult = await pull(service, { prepare, argv });
      expect(pullResult).toMatchObject({ code: 2, stdout: '', files: remainingFiles });
      expect(Object.keys(pullResult.files)).toEqual(Object.keys(remainingFiles));
    }
  });

  it('keeps an existing file, and writes no others', async () => {
    const service = await fakeService(
      { '/workspace': [validFile, { path: '/workspace/b', size: 3 }] },
      { '/workspace/fine': text, '/workspace/b': text },
    );
    const prepare = (out: string): Promise<unknown> => put(path.join(out, 'b'), 'mine');
    const outcome = await pull(service, { prepare });
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') });
    expect(outcome.files).toEqual({ b: 'mine' });
    expect((await pull(service, { prepare, argv: ['--force'] })).files).toEqual({ b: 'abc', fine: 'abc' });
  });

  it('that is interrupted reports what exists and how to continue', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `/workspace/f${String(index).padStart(2, '0')}`);
    const files = Object.fromEntries(names.slice(0, -1).map((name) => [name, text]));
    const service = await fakeService({ '/workspace': names.map((name) => ({ path: name, size: 3 })) }, files);
    const pullResult = await pull(service);
    expect(pullResult).toMatchObject({ code: 3, stdout: '' });
    const count = Object.keys(pullResult.files).length;
    expect(pullResult.stderr).toContain(`${count} of 12 files are in `);
    expect(pullResult.stderr).toContain('run the command again with --force');
    expect(new Set(Object.values(pullResult.files))).toEqual(new Set(['abc']));
    const service2 = await fakeService(
      { '/workspace': names.map((name) => ({ path: name, size: 3 })) },
      { ...files, [names[11] as string]: text },
    );
    const prepare = async (out: string): Promise<void> => {
      for (const [name, content] of Object.entries(pullResult.files)) await put(path.join(out, name), content);
    };
    expect(Object.keys((await pull(service2, { prepare, argv: ['--force'] })).files)).toHaveLength(12);
  });

  it('is reported in order, whatever arrives first', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `/workspace/f${String(index).padStart(2, '0')}`);
    const service = await fakeService(
      { '/workspace': names.map((name) => ({ path: name, size: 3 })) },
      Object.fromEntries(names.map((name) => [name, text])),
    );
    const pullResult = await pull(service, { argv: ['--json'] });
    expect(pullResult.json<{ data: { path: string }[] }>().data.map((file) => file.path)).toEqual(names);
  });
});
