/**
 * Nodes that take turns with a sandbox: steps, uploads, interruptions, and nodes that have lost the sandbox without noticing, in random
 * orders, compared with a model of what the files should be. The nodes share a connection to SQLite, because nothing here depends on
 * which database it is.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { RunWorkspace } from '../../../../src/service/engine/run-workspaces.ts';
import { SharedWorkspaces } from '../../../../src/service/engine/workspaces/shared-workspaces.ts';
import { WorkspaceLostError } from '../../../../src/service/engine/workspaces/workspace-lost.ts';
import type { SandboxFiles } from '../../../../src/service/sandbox/sandbox-files.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { randomFrom } from '../../../support/random.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { each, recordedSandbox } from '../../helpers/recorded-sandbox.ts';

const operationCount = 60;
const names = ['a', 'b', 'd/a', 'd/b', 'd/e/a'];
const contents = ['', 'one', 'two', 'binary \0', 'long '.repeat(20_000)];

/** Texts by path. */
type Texts = Map<string, string>;

const sorted = (texts: Texts): [string, string][] => [...texts].sort(([a], [b]) => (a < b ? -1 : 1));

async function textsIn(files: SandboxFiles | undefined): Promise<Texts> {
  const found: Texts = new Map();
  for (const file of (await files?.walk(''))?.files ?? []) {
    const content = await file.content(1_000_000);
    const text = await buffer(each(content?.chunks ?? []));
    await content?.close?.();
    found.set(file.displayPath.slice('/workspace/'.length), text.toString());
  }
  return found;
}

/** An execution of the run, and what it should find and leave behind. */
interface Execution {
  node: Node;
  workspace: RunWorkspace;
}

/** What a node should have in its folder. */
class Folder {
  /** What is on the disk. */
  texts: Texts = new Map();
  /** What was recorded when it was last compared. */
  known: Texts = new Map();
  /** Uploads that it does not contain yet. */
  readonly missing = new Set<string>();

  constructor(recorded: Texts) {
    this.texts = new Map(recorded);
    this.known = new Map(recorded);
  }

  /** Gets the uploads, also in place of what the step has not recorded yet. */
  pull(recorded: Texts): void {
    for (const name of this.missing) for (const texts of [this.texts, this.known]) texts.set(name, recorded.get(name) as string);
    this.missing.clear();
  }

  /** Whether something has changed. */
  get isChanged(): boolean {
    return JSON.stringify(sorted(this.texts)) !== JSON.stringify(sorted(this.known));
  }

  /** Records what has changed, except if it would undo an upload that the step has not seen. */
  record(recorded: Texts): void {
    for (const [name, text] of this.texts)
      if (this.known.get(name) !== text) {
        recorded.set(name, text);
        this.missing.delete(name);
      }
    for (const name of this.known.keys()) if (!this.texts.has(name) && !this.missing.has(name)) recorded.delete(name);
    this.texts = new Map(recorded);
    this.known = new Map(recorded);
    this.missing.clear();
  }
}

interface Node {
  name: string;
  workspaces: SharedWorkspaces;
  /** Undefined if it has to be restored before it is used. */
  folder: Folder | undefined;
  /** Another process begins with what is on the disk. */
  restart(node: Node): void;
}

async function start(random: () => number) {
  const { engine, logEntries, storedKeys, sweepLater } = await recordedSandbox();
  const { store, clock } = engine;
  const newNode = async (name: string): Promise<Node> => {
    const root = await temporaryDirectory();
    const open = () => new SharedWorkspaces(engine, { sandboxes: new SandboxStore(root), node: name, sweep: async () => undefined });
    const restart = (node: Node): void => {
      node.workspaces = open();
      node.folder = undefined;
    };
    return { name, workspaces: open(), folder: undefined, restart };
  };
  const nodes = [await newNode('x'), await newNode('y'), await newNode('z')];
  const recorded: Texts = new Map();
  let holder: Node | undefined;
  let execution: Execution | undefined;
  /** Executions whose nodes have not noticed yet that another node has taken over. */
  const stale: Execution[] = [];
  const { signal } = new AbortController();
  const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const commit = ({ workspace }: Execution) => workspace.commit((record) => store.transaction().execute((trx) => record(trx)));
  const directoryOf = ({ workspace }: Execution): string => workspace.sandbox.directory;

  const forgetStale = (node: Node): void => {
    for (const late of stale.filter((each) => each.node === node)) {
      late.workspace.close();
      stale.splice(stale.indexOf(late), 1);
    }
  };
  const noteUpload = (name: string, text: string): void => {
    recorded.set(name, text);
    for (const { folder } of nodes) folder?.missing.add(name);
  };

  async function check(): Promise<void> {
    for (const node of nodes) {
      const shown = await textsIn(await node.workspaces.files('s'));
      const isHeld = holder === node && node.folder !== undefined;
      if (isHeld) node.folder?.pull(recorded);
      const expected = sorted(isHeld ? (node.folder as Folder).texts : recorded);
      expect([node.name, sorted(shown)]).toEqual([node.name, expected]);
      // A program of the service that reads the files does not change those of an execution.
      if (stale.some((late) => late.node === node)) continue;
      expect([node.name, sorted(await textsIn(await node.workspaces.inspect('s', signal)))]).toEqual([node.name, expected]);
    }
  }

  const operations = {
    async takeOver(): Promise<string> {
      const node = oneOf(nodes.filter((each) => each !== execution?.node));
      if (execution !== undefined) stale.push(execution);
      execution = undefined;
      await operations.begin(node);
      return node.name;
    },
    async begin(node = oneOf(nodes)): Promise<string> {
      if (execution !== undefined) return 'nothing';
      const claimed = await store.transaction().execute((trx) => node.workspaces.claim(trx, 's', 'job'));
      if (claimed === undefined) throw new Error('The sandbox could not be claimed.');
      // A process that continues to execute a run ends before it executes the run again.
      forgetStale(node);
      const isKept = holder === node && node.folder !== undefined;
      holder = node;
      if (isKept) node.folder?.pull(recorded);
      else node.folder = new Folder(recorded);
      execution = { node, workspace: await node.workspaces.open('s', claimed, { created: undefined, signal }) };
      return node.name;
    },
    async write(): Promise<string> {
      if (execution === undefined) return 'nothing';
      const [name, text] = [oneOf(names), oneOf(contents)];
      const place = path.join(directoryOf(execution), name);
      await mkdir(path.dirname(place), { recursive: true });
      await writeFile(place, text);
      execution.node.folder?.texts.set(name, text);
      return `${name}: ${text.length}`;
    },
    async remove(): Promise<string> {
      if (execution === undefined) return 'nothing';
      const removed = oneOf([...names, 'd', 'd/e']);
      await rm(path.join(directoryOf(execution), removed), { recursive: true, force: true });
      const texts = execution.node.folder?.texts ?? new Map();
      for (const name of texts.keys()) if (name === removed || name.startsWith(`${removed}/`)) texts.delete(name);
      return removed;
    },
    async upload(): Promise<string> {
      const [node, name, text] = [oneOf(nodes), oneOf(names), oneOf(contents)];
      clock.advance(1);
      await node.workspaces.write(store, 's', name, each([Buffer.from(text)]));
      noteUpload(name, text);
      return `${node.name} ${name}: ${text.length}`;
    },
    async uploadAll(): Promise<string> {
      const [node, texts] = [oneOf(nodes), names.filter(() => random() < 0.5).map((name) => [name, oneOf(contents)] as const)];
      clock.advance(1);
      await node.workspaces.writeAll(store, 's', each(texts.map(([name, text]) => ({ path: name, content: each([Buffer.from(text)]) }))));
      for (const [name, text] of texts) noteUpload(name, text);
      return `${node.name} ${texts.map(([name, text]) => `${name}: ${text.length}`).join(', ')}`;
    },
    async commit(): Promise<string> {
      if (execution === undefined) return 'nothing';
      await commit(execution);
      execution.node.folder?.record(recorded);
      return execution.node.name;
    },
    async end(): Promise<string> {
      if (execution === undefined) return 'nothing';
      execution.workspace.close();
      execution = undefined;
      return '';
    },
    async salvage(): Promise<string> {
      if (execution === undefined) return 'nothing';
      await execution.workspace.salvage();
      const { folder } = execution.node;
      if (folder?.isChanged) folder.record(recorded);
      // If only folders or times have changed, it gets the uploads, and otherwise when somebody looks.
      else await check();
      return operations.end();
    },
    async restart(): Promise<string> {
      const node = oneOf(nodes);
      forgetStale(node);
      if (execution?.node === node) execution = undefined;
      node.restart(node);
      return node.name;
    },
    async wakeUp(): Promise<string> {
      const late = stale.shift();
      if (late === undefined) return 'nothing';
      const { folder } = late.node;
      if (random() < 0.5) await late.workspace.salvage();
      else if (folder?.isChanged) await expect(commit(late)).rejects.toThrow(WorkspaceLostError);
      // Folders or times may have changed. If nothing has, the caller finds out that the job is lost.
      else await commit(late).catch((error: unknown) => expect(error).toBeInstanceOf(WorkspaceLostError));
      late.workspace.close();
      return late.node.name;
    },
  };

  return {
    operations,
    nodes,
    logEntries,
    check,
    /** The names of stored files that nothing refers to, after everything was removed that may be removed. */
    async leftOver(): Promise<string[]> {
      await sweepLater();
      const rows = await store.selectFrom('workspace_files').select('file_key').distinct().execute();
      const keys = new Set(rows.map(({ file_key: key }) => key));
      return (await storedKeys()).filter((key) => !keys.has(key));
    },
  };
}

type Operation = keyof Awaited<ReturnType<typeof start>>['operations'];

/** How often each operation is chosen, compared with the others. */
const weights: Record<Operation, number> = {
  ...{ begin: 2, write: 3, remove: 1, upload: 2, uploadAll: 1, commit: 2 },
  ...{ end: 1, salvage: 1, takeOver: 1, wakeUp: 1, restart: 1 },
};
const choices = Object.entries(weights).flatMap(([name, weight]) => Array.from({ length: weight }, () => name));

it.each([57, 75, 79, 113])('have what was recorded and uploaded, and nothing else (seed %i)', async (seed) => {
  const random = randomFrom(seed);
  const { operations, check, leftOver, logEntries } = await start(random);
  const history: string[] = [];
  for (let count = 0; count < operationCount; count++) {
    const choice = choices[Math.floor(random() * choices.length)] as Operation;
    try {
      history.push(`${choice} ${await operations[choice]()}`);
      if (random() < 0.3) {
        history.push('check');
        await check();
      }
    } catch (error) {
      throw new Error(`${history.join('\n')}\n${choice}`, { cause: error });
    }
  }
  await check();
  expect(await leftOver()).toEqual([]);
  expect(logEntries).toEqual([]);
});
