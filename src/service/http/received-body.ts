/** The body of a request once it has arrived: JSON in memory, a form with its files on the disk. */
import { Buffer } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors.ts';
import { bodyChunks, jsonLimit, parseJson, readBody, uploadLimit } from './body.ts';
import { type FingerprintedRequest, fingerprint, startFingerprint } from './idempotency-request.ts';
import { boundaryOf, MultipartReader, type PartHead } from './multipart.ts';
import { ReceivedFile } from './received-file.ts';

/** Bytes of text that the fields of a form may have together. */
const textLimit = 64 * 1024;
const partLimit = 16;

export interface ReceivedBody {
  /** As it came; nothing of a form. */
  readonly bytes: Buffer;
  /** What it says. Throws 400 `invalid_request`. */
  value(): unknown;
  /** What tells it from another request. */
  fingerprint(): string;
  /** To be called when it is not needed any more. */
  close(): Promise<void>;
}

const nothing = Buffer.alloc(0);
const noClose = async (): Promise<void> => undefined;

/** A body of JSON, or of anything that its operation reads by itself. Throws 413 `body_too_large`, 408 `request_timeout`. */
export async function receiveBytes(
  request: IncomingMessage,
  about: FingerprintedRequest,
  options: { isEmpty: boolean; milliseconds: number },
): Promise<ReceivedBody> {
  const bytes = options.isEmpty ? nothing : await readBody(request, jsonLimit, options.milliseconds);
  return {
    bytes,
    value: () => parseJson(bytes, request.headers['content-type']),
    fingerprint: () => fingerprint(about, bytes),
    close: noClose,
  };
}

/**
 * A form. Its text fields are strings and its files a `ReceivedFile`; of fields with one name the last counts. What is wrong with
 * it is said when it is asked for its value: all of it has to be seen to tell whether it is a request that came before. Throws 413
 * `body_too_large`, 408 `request_timeout`.
 */
export async function receiveForm(
  request: IncomingMessage,
  about: FingerprintedRequest,
  options: { milliseconds: number; openDisk: () => Promise<FileHandle> },
): Promise<ReceivedBody> {
  const print = startFingerprint(about);
  const form = new Form(options.openDisk);
  let problem: ServiceError | undefined;
  const attempt = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      if (problem === undefined) await work();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      problem = error;
    }
  };
  try {
    await attempt(() => form.begin(request.headers['content-type']));
    for await (const chunk of bodyChunks(request, uploadLimit, options.milliseconds)) {
      print.update(chunk);
      await attempt(() => form.add(chunk));
    }
    await attempt(() => form.end());
  } catch (error) {
    await form.close();
    throw error;
  }
  const digest = print.digest('hex');
  return {
    bytes: nothing,
    value() {
      if (problem !== undefined) throw problem;
      return form.fields();
    },
    fingerprint: () => digest,
    close: () => form.close(),
  };
}

/** A form while it comes. */
class Form {
  readonly #openDisk: () => Promise<FileHandle>;
  #reader: MultipartReader | undefined;
  readonly #parts: { name: string; content: ReceivedFile | Buffer[] }[] = [];
  #textLength = 0;

  constructor(openDisk: () => Promise<FileHandle>) {
    this.#openDisk = openDisk;
  }

  begin(contentType: string | undefined): void {
    this.#reader = new MultipartReader(boundaryOf(contentType));
  }

  async add(chunk: Buffer): Promise<void> {
    for (const found of this.#reader?.read(chunk) ?? []) {
      if ('isFile' in found) this.#addPart(found);
      else await this.#addContent(found);
    }
  }

  end(): void {
    this.#reader?.end();
  }

  fields(): Record<string, unknown> {
    return Object.fromEntries(
      this.#parts.map(({ name, content }) => [
        name,
        content instanceof ReceivedFile ? content : new TextDecoder().decode(Buffer.concat(content)),
      ]),
    );
  }

  async close(): Promise<void> {
    for (const { content } of this.#parts) if (content instanceof ReceivedFile) await content.close();
  }

  #addPart({ name, isFile }: PartHead): void {
    if (this.#parts.length === partLimit)
      throw new ServiceError(400, 'invalid_request', `The multipart body has more than ${partLimit} parts.`);
    this.#parts.push({ name, content: isFile ? new ReceivedFile(this.#openDisk) : [] });
  }

  async #addContent(bytes: Buffer): Promise<void> {
    const { content } = this.#parts.at(-1) as { content: ReceivedFile | Buffer[] };
    if (content instanceof ReceivedFile) return content.add(bytes);
    this.#textLength += bytes.length;
    if (this.#textLength > textLimit)
      throw new ServiceError(400, 'invalid_request', `The multipart body has more than ${textLimit} bytes of text fields.`);
    content.push(bytes);
  }
}
