/** The files of a sandbox are the same with SQLite, where they are on the disk, and on any node with Postgres, where they are recorded. */
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Run } from '../../../../src/interface/types.ts';
import { needsPostgres, needsSqlite, newDatabase } from '../../../support/postgres.ts';
import { randomFrom } from '../../../support/random.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { tarOf } from '../../../support/tar.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import type { Behaviour } from '../../helpers/runtime.ts';
import { type Answer, type Api, startApi } from '../../helpers/service.ts';
import { uploadForm } from '../../helpers/uploads.ts';

/** A folder next to the workspace: the steps follow links, like any program, and must not change anything else of this machine. */
const outside = (folder: string): string => path.join(folder, '../outside');

/** What a step of a run does with its files. Whatever fails has no effect, such as a folder in place of a file. */
const actions: Record<string, (folder: string, name: string, other: string) => Promise<void>> = {
  write: async (folder, name, text) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  },
  makeFolder: async (folder, name) => void (await mkdir(path.join(folder, name), { recursive: true })),
  remove: (folder, name) => rm(path.join(folder, name), { recursive: true }),
  rename: (folder, name, other) => rename(path.join(folder, name), path.join(folder, other)),
  link: (folder, name, other) =>
    symlink(path.relative(path.dirname(path.join(folder, name)), path.join(folder, other)), path.join(folder, name)),
  linkBehind: (folder, name, other) => symlink(`${other}/../${other}`, path.join(folder, name)),
  linkBack: (folder, name, other) => symlink(`../workspace/${other}`, path.join(folder, name)),
  leadOut: (folder, name) => symlink(outside(folder), path.join(folder, name)),
  close: (folder, name) => chmod(path.join(folder, name), 0o400),
};

const behaviours: Record<string, Behaviour> = {
  change: async (host) => {
    await mkdir(outside(host.sandbox.directory), { recursive: true });
    for (const [action, name, other] of JSON.parse(host.userMessages.at(-1) as string) as [string, string, string][])
      await actions[action]?.(host.sandbox.directory, name, other).catch(() => undefined);
    await host.commit(`turn ${host.userMessages.length}`, null);
    return { status: 'completed' };
  },
};

const names = ['a', 'b', 'a/b', 'a/c', 'a/b/c', 'b/a', 'link', 'link/a', 'ü.txt', 'empty'];
/** Other ways to write paths, some of which are refused. */
const spellings = [
  (name: string) => `./${name}`,
  (name: string) => `/workspace/${name}`,
  (name: string) => `${name}/`,
  (name: string) => `a//${name}`,
  (name: string) => `a/../${name}`,
];
const texts = ['', 'text', 'binary \0', 'long '.repeat(20_000)];

/** The sandbox of a run, as one of the services that have it shows it. */
class Files {
  readonly #api: Api;
  readonly #run: Run;

  constructor(api: Api, run: Run) {
    this.#api = api;
    this.#run = run;
  }

  async step(changes: unknown): Promise<void> {
    await this.#api.ok('postRunMessage', { params: { run_id: this.#run.id }, body: { message: JSON.stringify(changes) } });
    await this.#api.until(this.#run.id, 'completed');
  }

  async upload(file: string, text: string): Promise<unknown> {
    const params = { sandbox_id: this.#run.sandbox_id as string };
    return resultOf(await this.#api.call('uploadSandboxFile', { params, body: uploadForm(file, text) }));
  }

  /** Only the status: of several reasons to refuse an archive, any is returned. */
  async uploadArchive(texts: Record<string, string>): Promise<number> {
    const place = `/v2/sandboxes/${this.#run.sandbox_id}/files/archive`;
    const answer = await this.#api.send('POST', place, { headers: { 'content-type': 'application/x-tar' }, body: tarOf(texts) });
    return answer.status;
  }

  /** Everything that the service returns about the files, apart from times and URLs. */
  async state(): Promise<unknown[]> {
    const named = names.map(async (name) => [name, await this.#content(name)]);
    return [...(await this.#below('/workspace')), ...(await Promise.all(named))];
  }

  async #below(folder: string): Promise<unknown[]> {
    const answer = await this.#api.call('listRunSandboxFiles', { params: { run_id: this.#run.id }, query: { path: folder } });
    const found: unknown[] = [folder, resultOf(answer)];
    for (const { modified_at: _, ...entry } of answer.body.data?.entries ?? []) {
      found.push(entry);
      if (entry.type === 'directory') found.push(...(await this.#below(entry.path)));
    }
    return found;
  }

  async #content(file: string): Promise<unknown> {
    const answer = await this.#api.call('getRunSandboxFileContent', { params: { run_id: this.#run.id }, query: { path: file } });
    const { download_url: _, ...shown } = answer.body.data ?? {};
    return { ...resultOf(answer), ...shown };
  }
}

const resultOf = ({ status, body }: Answer) => ({ status, error: (body as { error?: string }).error });

async function newRun(api: Api): Promise<Run> {
  const { id } = await api.run('change', '[]');
  return api.until(id, 'completed');
}

describeNeeding(needsPostgres ?? needsSqlite, 'the files of a run', () => {
  it.each([11, 16, 46])('are the same on both databases (seed %i)', async (seed) => {
    const random = randomFrom(seed);
    const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    const some = <Item>(maximum: number, make: () => Item): Item[] => Array.from({ length: 1 + Math.floor(random() * maximum) }, make);
    const spelled = (): string => (random() < 0.3 ? oneOf(spellings)(oneOf(names)) : oneOf(names));

    const sqlite = await startApi({ behaviours });
    const local = new Files(sqlite, await newRun(sqlite));
    const database = { url: await newDatabase(), maxConnections: 5, secretKeyFile: path.join(await temporaryDirectory(), 'secrets.key') };
    const apis = [await startApi({ behaviours, database }), await startApi({ behaviours, database })] as const;
    const sharedRun = await newRun(apis[0]);
    const nodes = apis.map((api) => new Files(api, sharedRun));

    const history: unknown[] = [];
    for (let change = 0; change < 12; change += 1) {
      const kind = oneOf(['step', 'file', 'archive', 'archive']);
      const uploads = some(3, (): [string, string] => [spelled(), oneOf(texts)]);
      const steps = some(4, () => [oneOf(Object.keys(actions)), oneOf(names), oneOf(names)]);
      history.push(kind === 'step' ? steps : [kind, ...uploads.map(([name, text]) => `${name} (${text.length})`)]);
      const apply = (files: Files): Promise<unknown> => {
        if (kind === 'step') return files.step(steps);
        return kind === 'archive' ? files.uploadArchive(Object.fromEntries(uploads)) : files.upload(...(uploads[0] as [string, string]));
      };
      const result = await apply(local);
      expect(await apply(oneOf(nodes)), JSON.stringify(history)).toEqual(result);
      const state = await local.state();
      for (const node of nodes) expect(await node.state(), JSON.stringify(history)).toEqual(state);
    }
  });
});
