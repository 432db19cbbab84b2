/**
 * Uploads and steps on two nodes while the file store fails at random: what was acknowledged is there afterwards, on every node, and
 * nothing else is.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openWorkspaces } from '../../../../src/service/engine/workspaces/open-workspaces.ts';
import { FileStore } from '../../../../src/service/files/file-store.ts';
import type { Sandbox } from '../../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { DatabaseFiles } from '../../../../src/service/store/files/database-files.ts';
import { insertSandbox } from '../../../../src/service/store/runs/sandboxes.ts';
import type { ClaimedWorkspace } from '../../../../src/service/store/runs/workspace-files.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { randomFrom } from '../../../support/random.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNode } from '../../helpers/postgres.ts';

const created_at = '2026-07-18T09:00:00.000Z';
const { signal } = new AbortController();

/** Fails some of its calls, before or after the work. */
class FailingFiles extends FileStore {
  isFailing: () => boolean = () => false;

  #failAtRandom(): void {
    if (this.isFailing()) throw Object.assign(new Error('the bucket does not answer'), { code: 'FILES_UNAVAILABLE' });
  }

  override async put(...args: Parameters<FileStore['put']>): ReturnType<FileStore['put']> {
    this.#failAtRandom();
    const stored = await super.put(...args);
    this.#failAtRandom();
    return stored;
  }

  override async open(...args: Parameters<FileStore['open']>): ReturnType<FileStore['open']> {
    this.#failAtRandom();
    return super.open(...args);
  }

  override async delete(...args: Parameters<FileStore['delete']>): ReturnType<FileStore['delete']> {
    this.#failAtRandom();
    await super.delete(...args);
  }
}

async function startNode(url: string, name: string) {
  const store = await openNode(url, name);
  const files = new FailingFiles(new DatabaseFiles(store));
  const sandboxes = new SandboxStore(path.join(await temporaryDirectory(), 'sandboxes'));
  const repositories = { sweep: async () => undefined } as never;
  const engine = { store, clock: new ManualClock(), files, sandboxes, repositories, log: () => undefined };
  const workspaces = await openWorkspaces(engine, name);
  workspaces.start?.();
  afterTest(async () => workspaces.close?.());
  return {
    files,
    upload: (file: string, text: string) =>
      workspaces.write(store, 's', file, {
        async *[Symbol.asyncIterator]() {
          yield Buffer.from(text);
        },
      }),
    /** A step of a run. Whatever fails, it is executed again, as that of a run is. */
    async step(work: (sandbox: Sandbox) => Promise<unknown>): Promise<void> {
      for (let attempts = 0; attempts < 200; attempts++) {
        const claim = (await store.transaction().execute((trx) => workspaces.claim(trx, 's', 'job'))) as ClaimedWorkspace;
        try {
          const workspace = await workspaces.open('s', claim, { created: undefined, signal });
          try {
            await work(workspace.sandbox);
            await workspace.commit((record) => store.transaction().execute((trx) => record(trx)));
          } finally {
            workspace.close();
          }
          return;
        } catch (error) {
          if ((error as { code?: string }).code !== 'FILES_UNAVAILABLE') throw error;
        }
      }
      throw new Error('the step never succeeds');
    },
  };
}

type Node = Awaited<ReturnType<typeof startNode>>;

/** Distinguishes texts in short messages. */
const inShort = (text: string): string => `${text.slice(0, 20)}… ${text.length}`;

/** All files of the workspace. */
async function contentOf(sandbox: Sandbox): Promise<Record<string, string>> {
  const { files } = await sandbox.walk('');
  const texts = files.map(async ({ displayPath }) => {
    const name = displayPath.slice('/workspace/'.length);
    return [name, inShort((await sandbox.read(name, 1_000_000)).bytes.toString())] as const;
  });
  return Object.fromEntries(await Promise.all(texts));
}

describeNeeding(needsPostgres, 'the files of a sandbox', () => {
  it.each([1, 2, 3])('are those that were acknowledged, whatever fails (seed %i)', async (seed) => {
    const random = randomFrom(seed);
    const url = await newDatabase();
    const nodes = [await startNode(url, 'a'), await startNode(url, 'b')] as const;
    const [first] = nodes;
    const store = await openNode(url, 'c');
    await insertTeam(store, { id: 't', name: 'T', created_at });
    await insertSandbox(store, { id: 's', team_id: 't', created_at, expires_at: null, removed_at: null });
    const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
    // What is done stays the same for a seed, whenever the nodes notify each other.
    const failures = randomFrom(seed + 1_000);
    const setFailing = (rate: number): void => {
      for (const { files } of nodes) files.isFailing = () => failures() < rate;
    };
    const expected = new Map<string, string>();
    let count = 0;
    const newText = (): string => {
      count += 1;
      return `${count} `.repeat(pick([1, 100, 30_000]));
    };
    const upload = async (node: Node): Promise<void> => {
      const [name, text] = [`in/${pick(['a', 'b', 'c', 'd'])}`, newText()];
      // If its answer is a failure, the file is not changed.
      await node.upload(name, text).then(
        () => expected.set(name, inShort(text)),
        () => undefined,
      );
    };
    for (let round = 0; round < 25; round++) {
      setFailing(pick([0, 0.1, 0.4]));
      const node = pick(nodes);
      const changes = Array.from(
        { length: Math.floor(random() * 3) },
        () => [`out/${pick(['x', 'y', 'z'])}`, random() < 0.7 ? newText() : undefined] as const,
      );
      const uploadCount = pick([0, 0, 1, 2]);
      let isFirst = true;
      await node.step(async (sandbox) => {
        for (const [name, text] of changes)
          if (text === undefined) await rm(path.join(sandbox.directory, name), { force: true });
          else await sandbox.write(name, Buffer.from(text));
        if (!isFirst) return;
        isFirst = false;
        for (let index = 0; index < uploadCount; index++) await upload(pick(nodes));
      });
      for (const [name, text] of changes)
        if (text === undefined) expected.delete(name);
        else expected.set(name, inShort(text));
      if (random() < 0.5) await upload(pick(nodes));
      setFailing(0);
      for (const each of [pick(nodes), first]) {
        let content: Record<string, string> = {};
        await each.step(async (sandbox) => {
          content = await contentOf(sandbox);
        });
        expect(content, `round ${round}`).toEqual(Object.fromEntries(expected));
      }
    }
  });
});
