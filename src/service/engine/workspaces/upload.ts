/**
 * Uploads into sandboxes: the bytes are stored, and recorded together with the request. The node that works with the files then writes
 * them to its copy.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { notFound } from '../../errors.ts';
import { sniffLength } from '../../sandbox/file-kind.ts';
import { isTextStart } from '../../sandbox/record/capture.ts';
import type { RecordedEntry, RecordedFile } from '../../sandbox/record/entries.ts';
import { FilePacks, maxSmallBytes, type PutBytes } from '../../sandbox/record/packs.ts';
import { type ComingBytes, tooLarge } from '../../sandbox/write.ts';
import type { NewFile } from '../../sandbox/write-files.ts';
import type { Queries, Store } from '../../store/database/database.ts';
import { raiseVersion, workspaceState } from '../../store/runs/workspace-files.ts';
import { discardFiles } from '../files/stored-files.ts';
import { type BytesEngine, putBytes, recordChanges } from './stored-bytes.ts';
import { missingFolders, requireUnchanged, type UploadTarget, UploadTargets } from './upload-targets.ts';

/** @param store of the request @param limit bytes */
export async function uploadFile(
  engine: BytesEngine,
  store: Store,
  sandboxId: string,
  { path: input, content }: { path: string; content: ComingBytes },
  limit = Number.POSITIVE_INFINITY,
): Promise<{ path: string; size: number }> {
  await requireExisting(engine, sandboxId);
  // Refused before the first byte is read.
  if (content.length !== undefined && content.length > limit) throw tooLarge(limit);
  const target = await new UploadTargets(engine.store, sandboxId).find(input);
  const upload = new Upload(engine, sandboxId);
  await upload.finish(store, () => upload.add(target, limited(content, limit)));
  return { path: target.displayPath, size: upload.size };
}

/** @param store of the request */
export async function uploadFiles(engine: BytesEngine, store: Store, sandboxId: string, files: AsyncIterable<NewFile>): Promise<void> {
  await requireExisting(engine, sandboxId);
  const targets = new UploadTargets(engine.store, sandboxId);
  const upload = new Upload(engine, sandboxId);
  await upload.finish(store, async () => {
    for await (const { path: input, content } of files) await upload.add(await targets.find(input), content);
  });
}

async function requireExisting({ store }: BytesEngine, sandboxId: string): Promise<void> {
  const state = await workspaceState(store, sandboxId);
  if (state === undefined || state.removed_at !== null) throw notFound('sandbox', sandboxId);
}

class Upload {
  readonly #engine: BytesEngine;
  readonly #sandboxId: string;
  readonly #put: PutBytes;
  readonly #packs: FilePacks;
  readonly #keys: string[] = [];
  /** By path: the last one counts. */
  readonly #files = new Map<string, RecordedFile>();
  readonly #targets = new Map<string, UploadTarget>();
  /** Bytes. */
  size = 0;

  constructor(engine: BytesEngine, sandboxId: string) {
    this.#engine = engine;
    this.#sandboxId = sandboxId;
    this.#put = putBytes(engine, sandboxId);
    this.#packs = new FilePacks(this.#put);
  }

  /** Stores a file. */
  async add(target: UploadTarget, content: AsyncIterable<Uint8Array>): Promise<void> {
    this.#targets.set(target.path, target);
    const { start, rest } = await begin(content);
    const noteFile = (bytes: Pick<RecordedFile, 'size' | 'sha256' | 'stored'>): void => {
      const isText = isTextStart(start, bytes.size);
      const modifiedAt = this.#engine.clock.now();
      this.#files.set(target.path, { type: 'file', path: target.path, mode: 0o600, modifiedAt, isText, ...bytes });
      this.size += bytes.size;
    };
    if (rest !== undefined) {
      const { key, size, sha256 } = await this.#put(rest);
      this.#keys.push(key);
      return noteFile({ size, sha256, stored: { key, position: 0 } });
    }
    const size = start.length;
    const sha256 = createHash('sha256').update(start).digest('hex');
    if (size === 0) noteFile({ size, sha256, stored: null });
    else await this.#packs.add(start, (stored) => noteFile({ size, sha256, stored }));
  }

  /** Records what `work` adds. If anything fails, nothing remains. */
  async finish(store: Store, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      await this.#packs.flush();
      await store.transaction().execute((trx) => this.#record(trx));
    } catch (error) {
      await discardFiles(this.#engine, [...this.#keys, ...this.#packs.keys]);
      throw error;
    }
  }

  async #record(trx: Queries): Promise<void> {
    const version = await raiseVersion(trx, this.#sandboxId);
    if (version === undefined) throw notFound('sandbox', this.#sandboxId);
    // Others may have changed something since the targets were looked up.
    await requireUnchanged(trx, this.#sandboxId, this.#targets.values());
    const folders = await missingFolders(trx, this.#sandboxId, this.#targets.values());
    const modifiedAt = this.#engine.clock.now();
    const entries: RecordedEntry[] = folders.map((path) => ({ type: 'folder', path, mode: 0o700, modifiedAt }));
    const keys = [...this.#keys, ...this.#packs.keys];
    await recordChanges(this.#engine, trx, this.#sandboxId, { version, entries: [...entries, ...this.#files.values()], keys });
  }
}

/** Reads the first bytes of a file. `rest` is the whole file if there are more; otherwise `start` is. */
async function begin(content: AsyncIterable<Uint8Array>): Promise<{ start: Buffer; rest: AsyncIterable<Uint8Array> | undefined }> {
  const iterator = content[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  for (let size = 0; size <= maxSmallBytes; ) {
    const { value, done } = await iterator.next();
    if (done) return { start: Buffer.concat(chunks), rest: undefined };
    chunks.push(value);
    size += value.length;
  }
  const start = Buffer.concat(chunks);
  const rest = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield start;
      for (;;) {
        const { value, done } = await iterator.next();
        if (done) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  };
  return { start: start.subarray(0, sniffLength), rest: rest() };
}

async function* limited(content: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    yield chunk;
  }
}
