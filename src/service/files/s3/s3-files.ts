/** Files in a bucket of S3, or of a service with the same API. Large ones are uploaded in parts. */
import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import { inPieces } from '../pieces.ts';
import type { ByteRange, FileBackend } from '../stored-file.ts';
import { S3Client, type S3Options } from './s3-client.ts';
import { S3Error } from './s3-error.ts';
import { elements, textOf } from './xml.ts';

/** Bytes. S3 requires at least 5 MiB for each part but the last, and allows 10 000 parts. */
export const usualPartLength = 8 * 1024 * 1024;
/** Requests at the same time when many files are removed. */
const maxParallelRequests = 8;
/** How often a download that breaks off without any progress is continued. */
const maxResumptions = 5;

export class S3Files implements FileBackend {
  readonly kind = 's3';
  readonly #client: S3Client;
  readonly #partLength: number;

  /** @param options `partLength` is the size of the parts of large files, in bytes */
  constructor(options: S3Options & { partLength?: number }) {
    this.#client = new S3Client(options);
    this.#partLength = options.partLength ?? usualPartLength;
  }

  async put(key: string, data: AsyncIterable<Uint8Array>): Promise<void> {
    const parts = inPieces(data, this.#partLength);
    try {
      const first = await parts.next();
      const second = first.done === true ? first : await parts.next();
      // A part has to be larger than nothing, and most files are small.
      if (first.done === true || second.done === true)
        return await this.#putWhole(key, first.done === true ? Buffer.alloc(0) : first.value);
      await this.#putParts(key, [first.value, second.value], parts);
    } finally {
      await parts.return(undefined);
    }
  }

  async open(key: string, range: ByteRange | undefined): Promise<Readable | undefined> {
    const start = range?.start ?? 0;
    const download = await this.#get(key, start, range?.end);
    if (download === undefined) return undefined;
    const stream = Readable.from(this.#read(key, download, start), { objectMode: false });
    // A generator that was not started does not end what it reads.
    stream.once('close', () => download.body.destroy());
    return stream;
  }

  async delete(keys: readonly string[]): Promise<void> {
    const queue = keys.values();
    const work = async (): Promise<void> => {
      for (const key of queue) await this.#client.sendForXml({ method: 'DELETE', key, expects: [404] });
    };
    await Promise.all(Array.from({ length: Math.min(maxParallelRequests, keys.length) }, work));
  }

  /** Removes the parts of uploads that were never completed: they cost as much as files, but are in no list of files. */
  async deleteUnfinished(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const prefix = `${this.#client.prefix}${key}`;
      const xml = await this.#client.sendForXml({ method: 'GET', query: { uploads: '', prefix } });
      for (const upload of elements(xml, 'Upload')) {
        if (textOf(upload, 'Key') === prefix) await this.#abort(key, textOf(upload, 'UploadId') ?? '');
      }
    }
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; size: number }> {
    for (let token: string | undefined; ; ) {
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix: `${this.#client.prefix}${prefix}` };
      const xml = await this.#client.sendForXml({
        method: 'GET',
        query: token === undefined ? query : { ...query, 'continuation-token': token },
      });
      for (const entry of elements(xml, 'Contents')) {
        const key = decodeURIComponent(textOf(entry, 'Key') ?? '').slice(this.#client.prefix.length);
        yield { key, size: Number(textOf(entry, 'Size')) };
      }
      token = textOf(xml, 'NextContinuationToken');
      if (textOf(xml, 'IsTruncated') !== 'true' || token === undefined) return;
    }
  }

  async check(): Promise<void> {
    await this.#client.sendForXml({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1', prefix: this.#client.prefix } });
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #putWhole(key: string, body: Buffer): Promise<void> {
    await this.#client.sendForXml({ method: 'PUT', key, body });
  }

  async #putParts(key: string, firstParts: readonly Buffer[], moreParts: AsyncIterable<Buffer>): Promise<void> {
    const created = await this.#client.sendForXml({ method: 'POST', key, query: { uploads: '' } });
    const uploadId = textOf(created, 'UploadId');
    if (uploadId === undefined) throw new S3Error('the bucket did not begin an upload in parts');
    try {
      const tags: string[] = [];
      let size = 0;
      const putPart = async (body: Buffer): Promise<void> => {
        tags.push(await this.#putPart(key, { uploadId, partNumber: String(tags.length + 1) }, body));
        size += body.length;
      };
      for (const part of firstParts) await putPart(part);
      for await (const part of moreParts) await putPart(part);
      await this.#complete(key, uploadId, tags);
      await this.#requireSize(key, size);
    } catch (error) {
      // If this fails, a sweep does it (`deleteUnfinished`).
      await this.#abort(key, uploadId).catch(() => undefined);
      await this.delete([key]).catch(() => undefined);
      throw error;
    }
  }

  /** Returns the tag of the part. */
  async #putPart(key: string, query: { uploadId: string; partNumber: string }, body: Buffer): Promise<string> {
    const { headers, body: answer } = await this.#client.send({ method: 'PUT', key, query, body });
    await answer.dump();
    const tag = [headers.etag].flat()[0];
    if (tag === undefined) throw new S3Error('the bucket did not confirm a part of an upload');
    return tag;
  }

  async #complete(key: string, uploadId: string, tags: readonly string[]): Promise<void> {
    const escaped = (tag: string): string => tag.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
    const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`).join('');
    const body = Buffer.from(`<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`);
    try {
      await this.#client.sendForXml({ method: 'POST', key, query: { uploadId }, body });
    } catch (error) {
      // An earlier attempt, whose answer was lost, has completed it; the size is checked next.
      if (!(error instanceof S3Error && error.problem === 'NoSuchUpload')) throw error;
    }
  }

  async #requireSize(key: string, size: number): Promise<void> {
    const { headers, status } = await this.#client.send({ method: 'HEAD', key, expects: [404] });
    if (status === 404) throw new S3Error('the bucket has not kept a file that was uploaded in parts');
    if (Number(headers['content-length']) !== size)
      throw new S3Error(`the bucket has stored ${String(headers['content-length'])} of ${size} bytes`);
  }

  async #abort(key: string, uploadId: string): Promise<void> {
    await this.#client.sendForXml({ method: 'DELETE', key, query: { uploadId }, expects: [404] });
  }

  /** The bytes of a file from `start` to `end`, or to its end; undefined if there is no such file. */
  async #get(key: string, start: number, end: number | undefined): Promise<Download | undefined> {
    const range = start === 0 && end === undefined ? undefined : `bytes=${start}-${end ?? ''}`;
    const { status, headers, body } = await this.#client.send({
      method: 'GET',
      key,
      headers: range === undefined ? {} : { range },
      expects: [404, 416],
    });
    if (status === 404) {
      const problem = textOf(await body.text().catch(() => ''), 'Code');
      if (problem !== undefined && problem !== 'NoSuchKey')
        throw new S3Error(`the bucket answered GET with 404 ${problem}`, { status, problem });
      return undefined;
    }
    // The file is shorter than it should be; whoever reads it notices that.
    if (status === 416) {
      await body.dump();
      return { body: Readable.from([]), end: start };
    }
    const length = Number(headers['content-length']);
    if (!Number.isSafeInteger(length) || (range !== undefined && status !== 206)) {
      body.on('error', () => undefined).destroy();
      throw new S3Error('the bucket does not return the size or the part of a file that was requested');
    }
    return { body, end: start + length };
  }

  /** Reads a download, and continues it with another request if the connection breaks. */
  async *#read(key: string, { body, end }: Download, start: number): AsyncGenerator<Uint8Array> {
    let source: Readable | undefined = body;
    let position = start;
    for (let failures = 0; source !== undefined; ) {
      try {
        for await (const chunk of source as AsyncIterable<Buffer>) {
          position += chunk.length;
          failures = 0;
          yield chunk;
        }
        return;
      } catch (error) {
        failures += 1;
        if (failures > maxResumptions) throw new S3Error('the bucket broke off the download of a file several times', { cause: error });
        await this.#client.pause(failures);
        if (position >= end) return;
        source = (await this.#get(key, position, end - 1))?.body;
      }
    }
  }
}

interface Download {
  body: Readable;
  /** The position after the last byte. */
  end: number;
}
