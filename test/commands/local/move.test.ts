/** `aops local export` and `aops local import`: a service moves into Postgres and back, and nothing is lost or changed. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, chmod, cp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { continuable } from '../../../src/commands/local/move-record.ts';
import { type PopulatedData, populatedData, servicePopulated, waiting } from '../../service/exports/populated-data.ts';
import { needsPostgres, newEmptyDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { type CliOptions, type CliResult, runCli } from '../../support/run-cli.ts';
import { folderEnv } from '../../support/service.ts';
import { temporaryDirectory, temporaryFolder } from '../../support/temporary.ts';

let env: Record<string, string>;
let data: PopulatedData;
let keyFile: string;
/** An export of the data. */
let exported: string;
beforeAll(async () => {
  const folder = await temporaryFolder();
  env = folderEnv(folder);
  data = await populatedData();
  keyFile = path.join(data.directory, 'secrets.key');
  exported = path.join(folder, 'export');
  const result = await aops(['export', exported, '--data-dir', data.directory, '--json']);
  expect(result.code, result.stderr).toBe(0);
});

const aops = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(['local', ...argv], { ...options, env: { ...env, NO_COLOR: '1', ...options.env } });
const errorOf = ({ code, stderr }: CliResult) => {
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string; hint: string } };
  return { exit: code, ...error };
};

/** The checksums of all files by name. */
async function sumsOf(folder: string): Promise<Record<string, string>> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const names = entries.map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name))).sort();
  const sums = names.map(
    async (name) =>
      [
        name,
        createHash('sha256')
          .update(await readFile(path.join(folder, name)))
          .digest('hex'),
      ] as const,
  );
  return Object.fromEntries(await Promise.all(sums));
}

const copyOfExport = async (): Promise<string> => {
  const folder = path.join(await temporaryDirectory(), 'export');
  await cp(exported, folder, { recursive: true });
  return folder;
};

const fresh = async (name: string): Promise<string> => path.join(await temporaryDirectory(), name);

describe('local export', () => {
  it('writes what only its owner can read, and says what it contains', async () => {
    const folder = await fresh('export');
    const result = await aops(['export', folder, '--data-dir', data.directory, '--json']);
    expect(result.json()).toMatchObject({
      ...{ folder, data_dir: data.directory, database: null, format: 1, secret_key_file: keyFile, files: 1 },
      problems: [{ path: `sandboxes/${data.sandbox}/workspace/outside`, problem: expect.stringContaining('leads out of its sandbox') }],
    });
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(path.join(entry.parentPath, entry.name));
      expect(mode & 0o777, entry.name).toBe(entry.isDirectory() ? 0o700 : 0o600);
    }
    expect(await sumsOf(folder)).toEqual(await sumsOf(exported));
  });

  it('contains the key for secrets nowhere', async () => {
    const key = (await readFile(keyFile, 'utf8')).trim();
    for (const name of Object.keys(await sumsOf(exported)))
      expect((await readFile(path.join(exported, name))).includes(key), name).toBe(false);
  });

  it('refuses files that are missing or damaged, and leaves them out with --skip-missing', async () => {
    const directory = await fresh('data');
    await cp(data.directory, directory, { recursive: true });
    const name = `files/${data.pictureRun}/${data.fileId}`;
    await chmod(path.join(directory, name), 0o600);
    await appendFile(path.join(directory, name), 'x');
    const folder = await fresh('export');
    const argv = ['export', folder, '--data-dir', directory, '--json'];
    expect(errorOf(await aops(argv))).toMatchObject({
      code: 'export_file_missing',
      message: expect.stringContaining(`${name} is damaged`),
    });
    await rm(path.join(directory, name));
    expect(errorOf(await aops(argv))).toMatchObject({
      code: 'export_file_missing',
      message: expect.stringContaining(`${name} is missing`),
    });
    const result = await aops([...argv, '--skip-missing']);
    expect(result.json()).toMatchObject({ files: 0, problems: expect.arrayContaining([{ path: name, problem: expect.any(String) }]) });
    expect((await aops(['import', folder, '--verify'])).code).toBe(0);
  });

  it('refuses a directory without data, and flags that contradict each other', async () => {
    const folder = await fresh('export');
    const empty = await temporaryDirectory();
    expect(errorOf(await aops(['export', folder, '--data-dir', empty, '--json']))).toMatchObject({ exit: 3, code: 'no_data' });
    expect(await readdir(empty)).toEqual([]);
    const both = ['--data-dir', empty, '--database-url', 'postgres://localhost/x', '--json'];
    expect(errorOf(await aops(['export', folder, ...both]))).toMatchObject({ exit: 2 });
    expect(errorOf(await aops(['export', folder, '--data-dir', empty, '--secret-key-file', keyFile, '--json']))).toMatchObject({ exit: 2 });
    expect(existsSync(folder)).toBe(false);
  });

  it('refuses a data directory that a service uses', async () => {
    const directory = await fresh('data');
    await cp(data.directory, directory, { recursive: true });
    const api = await servicePopulated({ dataDirectory: directory });
    const folder = await fresh('export');
    const error = errorOf(await aops(['export', folder, '--data-dir', directory, '--json']));
    expect(error).toMatchObject({ exit: 6, code: 'data_directory_in_use' });
    await api.service.close();
  });
});

describe('local import', () => {
  it('creates a data directory with the same data, on which a service continues', async () => {
    const directory = await fresh('data');
    const argv = ['import', exported, '--data-dir', directory, '--secret-key-file', keyFile, '--json'];
    const result = await aops(argv);
    expect(result.json()).toMatchObject({ imported: true, continued: false, data_dir: directory, database: null, files: 1 });
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    const again = await fresh('export');
    expect((await aops(['export', again, '--data-dir', directory])).code).toBe(0);
    expect(await sumsOf(again)).toEqual(await sumsOf(exported));
    expect(errorOf(await aops(argv))).toMatchObject({ exit: 6, code: 'data_directory_not_empty' });
    const workspace = path.join(directory, 'sandboxes', data.sandbox, 'workspace');
    expect((await stat(path.join(workspace, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect((await stat(path.join(workspace, 'empty.txt'))).mtimeMs).toBe(1_700_000_000_000);
    expect(existsSync(path.join(directory, 'sandboxes', data.sandbox, 'home/.cache'))).toBe(false);
  });

  it('needs the key of the exported service, and says where it is', async () => {
    const directory = await fresh('data');
    const argv = ['import', exported, '--data-dir', directory, '--json'];
    expect(errorOf(await aops(argv))).toMatchObject({
      ...{ exit: 2, code: 'secret_key_required' },
      hint: expect.stringMatching(/--secret-key-file or AOPS_SECRET_KEY.*secrets\.key/),
    });
    const otherKey = Buffer.alloc(32, 7).toString('base64');
    const mismatch = errorOf(await aops(argv, { env: { AOPS_SECRET_KEY: otherKey } }));
    expect(mismatch).toMatchObject({ exit: 1, code: 'secret_key_mismatch', message: expect.stringContaining('AOPS_SECRET_KEY') });
    expect(JSON.stringify(mismatch)).not.toContain(otherKey);
    expect(existsSync(directory)).toBe(false);
  });

  it('refuses a directory with other files, and leaves it unchanged', async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, 'notes.txt'), 'mine');
    const result = await aops(['import', exported, '--data-dir', directory, '--secret-key-file', keyFile, '--json']);
    expect(errorOf(result)).toMatchObject({ exit: 6, code: 'data_directory_not_empty' });
    expect(await readdir(directory)).toEqual(['notes.txt']);
  });

  it.each<[string, (folder: string) => Promise<void>, string, string]>([
    ['a damaged table', (folder) => flip(path.join(folder, 'tables/runs.ndjson')), 'export_damaged', 'tables/runs.ndjson'],
    ['a missing archive', (folder) => rm(archive(folder)), 'export_damaged', '.tar is missing'],
    ['a damaged archive', (folder) => flip(archive(folder)), 'export_damaged', '.tar'],
    ['a longer list', (folder) => appendFile(path.join(folder, 'files.ndjson'), '\n'), 'export_damaged', 'files.ndjson'],
    ['a damaged file', (folder) => flip(picture(folder)), 'export_damaged', `files/`],
    ['a file that is a link', (folder) => linkTo(picture(folder), '/etc/passwd'), 'export_damaged', 'is not a file'],
    ['a folder that is a link', (folder) => linkAway(path.join(folder, 'files')), 'export_damaged', 'is not a folder'],
    ['no manifest', (folder) => rm(path.join(folder, 'manifest.json')), 'export_missing', 'does not contain an export'],
    ['a newer format', (folder) => edit(folder, { format: 2 }), 'export_newer', 'format 2'],
    ['a newer schema', (folder) => edit(folder, { schema: '9999-future' }), 'export_newer', '9999-future'],
  ])('refuses an export with %s before anything is written', async (_, spoil, code, text) => {
    const folder = await copyOfExport();
    await spoil(folder);
    const directory = await fresh('data');
    const error = errorOf(await aops(['import', folder, '--data-dir', directory, '--secret-key-file', keyFile, '--json']));
    expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
    expect(existsSync(directory)).toBe(false);
    expect(errorOf(await aops(['import', folder, '--verify', '--json']))).toMatchObject({ code });
  });
});

it('says after Ctrl-C that the same command continues', async () => {
  const controller = new AbortController();
  const reason = new Error('Interrupted.');
  const notes: string[] = [];
  const context = { signal: controller.signal, terminal: { note: (text: string) => void notes.push(text) } };
  const work = async (): Promise<never> => {
    controller.abort(reason);
    throw new Error('whatever fails then');
  };
  await expect(continuable(context, work)).rejects.toBe(reason);
  expect(notes).toEqual(['Interrupted. Run the same command again to continue.']);
});

const archive = (folder: string): string => path.join(folder, `sandboxes/${data.sandbox}.tar`);
const picture = (folder: string): string => path.join(folder, 'files', data.pictureRun, data.fileId);

async function flip(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] as number) ^ 1;
  await writeFile(file, bytes);
}

async function linkTo(file: string, target: string): Promise<void> {
  await rm(file);
  await symlink(target, file);
}

async function linkAway(folder: string): Promise<void> {
  await cp(folder, `${folder}.away`, { recursive: true });
  await rm(folder, { recursive: true });
  await symlink(`${folder}.away`, folder);
}

async function edit(folder: string, changes: object): Promise<void> {
  const file = path.join(folder, 'manifest.json');
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), ...changes }));
}

describeNeeding(needsPostgres, 'with Postgres', () => {
  it('a service moves there, continues its runs, and moves back', async () => {
    const url = await newEmptyDatabase();
    const ofDatabase = ['--database-url', url, '--secret-key-file', keyFile];
    const imported = await aops(['import', exported, ...ofDatabase, '--json']);
    expect(imported.json(), imported.stderr).toMatchObject({
      imported: true,
      continued: false,
      data_dir: null,
      database: expect.any(String),
    });
    expect(errorOf(await aops(['import', exported, ...ofDatabase, '--json']))).toMatchObject({ exit: 6, code: 'database_not_empty' });
    const second = await fresh('export');
    expect((await aops(['export', second, ...ofDatabase])).stderr).toBe('');
    expect(await sumsOf(second)).toEqual(await sumsOf(exported));

    const secretKey = { text: await readFile(keyFile, 'utf8'), source: keyFile };
    const api = await servicePopulated({ dataDirectory: await fresh('node'), database: { url, secretKey } });
    const refused = await fresh('export');
    expect(errorOf(await aops(['export', refused, ...ofDatabase, '--json']))).toMatchObject({ exit: 6, code: 'nodes_running' });
    // Tokens are still valid.
    expect((await api.as(data.token).call('listRuns')).status).toBe(200);
    const params = { run_id: data.waitingRun };
    const { data: folder } = await api.ok('listRunSandboxFiles', { params, query: { path: '/workspace' } });
    expect(folder.entries.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['empty folder', 'huge.bin', 'notes', 'run.sh', 'sealed']),
    );
    const { pending_human_request: request } = await waiting(api, data.waitingRun);
    await api.ok('respondToHumanRequest', {
      params: { ...params, request_id: request?.id as string },
      body: { answers: { 'Which colour?': 'blue' } },
    });
    await api.until(data.waitingRun, 'completed');
    await api.service.close();

    const third = await fresh('export');
    expect((await aops(['export', third, ...ofDatabase])).stderr).toBe('');
    const directory = await fresh('data');
    expect((await aops(['import', third, '--data-dir', directory, '--secret-key-file', keyFile])).code).toBe(0);
    const workspace = path.join(directory, 'sandboxes', data.sandbox, 'workspace');
    expect(await readFile(path.join(workspace, 'answer.md'), 'utf8')).toBe('blue');
    const moved = path.join(data.directory, 'sandboxes', data.sandbox, 'workspace/huge.bin');
    expect((await readFile(path.join(workspace, 'huge.bin'))).equals(await readFile(moved))).toBe(true);
    const fourth = await fresh('export');
    expect((await aops(['export', fourth, '--data-dir', directory])).code).toBe(0);
    expect(await sumsOf(fourth)).toEqual(await sumsOf(third));
    const last = await servicePopulated({ dataDirectory: directory });
    expect((await last.ok('getRun', { params })).run.status).toBe('completed');
    await last.service.close();
  });
});
