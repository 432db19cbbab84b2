/** The disk under the databases of this process. */
import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Libsql, { type Statement } from 'libsql';
import { type Mock, vi } from 'vitest';
import { afterTest } from '../../support/temporary.ts';
import { Gate } from './runtime.ts';

/** What all open files have in common, to be spied on. */
export async function fileHandles(): Promise<FileHandle> {
  const file = await open(fileURLToPath(import.meta.url));
  await file.close();
  return Object.getPrototypeOf(file) as FileHandle;
}

/** Resolves when the event loop has turned once. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Long enough for a response that does not wait for the disk. */
export async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await nextTurn();
}

/** Lets nothing reach the disk until the gate is open; the calls that want to. */
export async function heldDisk(gate: Gate): Promise<Mock> {
  const handles = await fileHandles();
  const { datasync } = handles;
  const sync = vi.spyOn(handles, 'datasync').mockImplementation(async function (this: FileHandle) {
    await gate.opened;
    await datasync.call(this);
  });
  afterTest(async () => sync.mockRestore());
  return sync as unknown as Mock;
}

/**
 * What syncs do once the write-ahead log of a data directory contains a text, such as a name that a request stores: from then on,
 * what was committed with it is not on the disk. `reached` resolves with the first such sync.
 */
export async function syncsFrom(
  { dataDirectory, text }: { dataDirectory: string; text: string },
  replacement: () => Promise<void>,
): Promise<{ arrival: Promise<void>; restore: () => void }> {
  const handles = await fileHandles();
  const { datasync } = handles;
  const arrival = new Gate();
  const spy = vi.spyOn(handles, 'datasync').mockImplementation(async function (this: FileHandle) {
    if (readFileSync(join(dataDirectory, 'aops.db-wal')).includes(text)) {
      arrival.open();
      await replacement();
    }
    await datasync.call(this);
  });
  afterTest(async () => spy.mockRestore());
  return { arrival: arrival.opened, restore: () => spy.mockRestore() };
}

/** How often a database has committed, and which of its statements fail. */
export interface Commits {
  count: number;
  failure: Error | undefined;
  /** The statements that fail; commits if it is not specified. */
  failing?: RegExp;
}

/** A database whose commits are counted and fail on request, as on a full disk. */
export const failingCommits = (real: Libsql.Database, commits: Commits): Libsql.Database =>
  new Proxy(real, {
    get(target, name) {
      if (name === 'prepare') return (text: string) => failStatement(real.prepare(text), text, commits);
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

function failStatement(statement: Statement, text: string, commits: Commits): Statement {
  const run = statement.run.bind(statement);
  statement.run = (...values: never[]) => {
    if (commits.failure !== undefined && (commits.failing ?? /^commit$/).test(text)) throw commits.failure;
    if (text === 'commit') commits.count += 1;
    return run(...values);
  };
  return statement;
}

/** The commits of the databases that are opened from now on, and the latest of these databases; for services, which open their own. */
export function serviceCommits(): Commits & { database?: Libsql.Database } {
  const commits: Commits & { database?: Libsql.Database } = { count: 0, failure: undefined };
  const { prepare } = Libsql.prototype;
  const spy = vi.spyOn(Libsql.prototype, 'prepare').mockImplementation(function (this: Libsql.Database, text: string) {
    commits.database = this;
    return failStatement(prepare.call(this, text), text, commits);
  });
  afterTest(async () => spy.mockRestore());
  return commits;
}
