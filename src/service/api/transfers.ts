/** Transfers by signed URL: downloads of sandbox files and run files, and uploads into sandboxes. All are streamed. */
import { Buffer } from 'node:buffer';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { notFound, ServiceError } from '../errors.ts';
import type { ByteRange } from '../files/stored-file.ts';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import { bodyChunks } from '../http/body.ts';
import type { Exchange, HttpParts } from '../http/exchange.ts';
import { contentDisposition, isNotModified, requestedRange } from '../http/range.ts';
import { patchName } from '../repositories/repositories.ts';
import type { Grant } from '../signed-urls.ts';
import { findRunFile, runFileKey } from '../store/runs/run-files.ts';

/** Something to download. */
interface Source {
  name: string;
  mimeType: string;
  size: number;
  etag: string;
  /** SHA-256 of the whole file in hex, if known. */
  sha256?: string;
  /** The bytes of a range, or all of them; undefined if the file has changed since it was described. */
  open(range: ByteRange | undefined): Promise<Readable | undefined>;
}

/** GET /files/<token>. Throws 403 for an invalid token, 404 if the file no longer exists. A range beyond its end is answered with 416. */
export async function downloadAnswer(parts: HttpParts, exchange: Exchange, token: string): Promise<Answer> {
  const grant = parts.signer.verify(token, parts.engine.clock.now());
  // The file is described again if it changes before it is opened.
  for (let attempt = 0; attempt < 3; attempt++) {
    const source = await describe(parts, grant);
    const answer = await sourceAnswer(source, exchange);
    if (answer !== undefined) return answer;
  }
  throw new ServiceError(409, 'file_changing', 'The file is being written; try again in a moment.');
}

/** PUT /uploads/<token>: the body becomes the file. */
export async function uploadAnswer(parts: HttpParts, exchange: Exchange, token: string): Promise<Answer> {
  const grant = parts.signer.verify(token, parts.engine.clock.now());
  if (grant.kind !== 'upload') throw wrongGrant();
  const { store, workspaces } = parts.engine;
  const file = await workspaces.write(store, grant.sandboxId, grant.path, bodyChunks(exchange.request));
  return jsonAnswer(201, { path: file.path, size_bytes: file.size });
}

async function sourceAnswer(source: Source, { request }: Exchange): Promise<Answer | undefined> {
  const headers = {
    'Accept-Ranges': 'bytes',
    ETag: source.etag,
    // The digest is that of the whole file, even if only a part is sent (RFC 9530).
    ...(source.sha256 === undefined ? {} : { 'Repr-Digest': `sha-256=:${Buffer.from(source.sha256, 'hex').toString('base64')}:` }),
    'Cache-Control': 'private, no-cache',
    // A file that was written by an agent must never run as a page of this origin.
    'Content-Disposition': contentDisposition(source.name),
    'Content-Security-Policy': "default-src 'none'; sandbox",
  };
  if (isNotModified(request.headers, source.etag)) return { status: 304, headers, body: '' };
  const range = requestedRange(request.headers, source);
  if (range === 'unsatisfiable') {
    return jsonAnswer(
      416,
      { error: 'range_not_satisfiable', message: `The file has ${source.size} bytes.` },
      { 'Content-Range': `bytes */${source.size}` },
    );
  }
  const length = range === undefined ? source.size : range.end - range.start + 1;
  const stream = request.method === 'HEAD' ? Readable.from([]) : await source.open(range);
  if (stream === undefined) return undefined;
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...headers,
      'Content-Type': source.mimeType,
      'Content-Length': String(length),
      ...(range === undefined ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${source.size}` }),
    },
    body: stream,
  };
}

async function describe(parts: HttpParts, grant: Grant): Promise<Source> {
  if (grant.kind === 'run_file') return describeRunFile(parts, grant);
  if (grant.kind === 'sandbox_file') return describeSandboxFile(parts, grant);
  if (grant.kind === 'run_patch') return describePatch(parts, grant);
  throw wrongGrant();
}

async function describeRunFile({ engine }: HttpParts, { runId, fileId }: Extract<Grant, { kind: 'run_file' }>): Promise<Source> {
  const file = await findRunFile(engine.store, runId, fileId);
  if (file === undefined) throw notFound('run file', fileId);
  return {
    name: file.name,
    // The type reported by the runtime, if it is valid in a header.
    mimeType: /^[\w.+-]+\/[\w.+-]+$/.test(file.mime_type) ? file.mime_type : 'application/octet-stream',
    size: Number(file.size),
    etag: `"${file.sha256}"`,
    sha256: file.sha256,
    async open(range) {
      // Opened before the response starts, so that a missing file can still be answered with 404.
      const stream = await engine.files.open({ key: runFileKey(file), size: Number(file.size), sha256: file.sha256 }, range);
      if (stream === undefined) throw notFound('run file', fileId);
      return stream;
    },
  };
}

async function describeSandboxFile({ engine }: HttpParts, { sandboxId, path }: Extract<Grant, { kind: 'sandbox_file' }>): Promise<Source> {
  const sandbox = await engine.workspaces.files(sandboxId);
  if (sandbox === undefined) throw notFound('sandbox', sandboxId);
  const entry = await sandbox.stat(path);
  if (entry.type !== 'file') throw new ServiceError(400, 'not_a_file', `${path} is not a file.`);
  return {
    name: posix.basename(path),
    mimeType: entry.mimeType ?? 'application/octet-stream',
    size: entry.size,
    etag: `"${entry.size.toString(36)}-${entry.modifiedAt.getTime().toString(36)}"`,
    open: async (range) => {
      const file = await sandbox.openRead(path, range);
      if (file.size === entry.size && file.modifiedAt.getTime() === entry.modifiedAt.getTime()) return file.stream;
      file.stream.destroy();
      return undefined;
    },
  };
}

async function describePatch({ engine }: HttpParts, { sandboxId, tree }: Extract<Grant, { kind: 'run_patch' }>): Promise<Source> {
  const file = await engine.workspaces.privateFile(sandboxId, patchName(tree));
  if (file === undefined) throw notFound('patch', tree);
  return {
    name: `${tree.slice(0, 12)}.patch`,
    mimeType: 'text/x-diff',
    size: file.size,
    // It never changes: the tree is the hash of its content.
    etag: `"${tree}"`,
    open: (range) => file.open(range),
  };
}

const wrongGrant = (): ServiceError => new ServiceError(403, 'invalid_signature', 'This URL was created for something else.');
