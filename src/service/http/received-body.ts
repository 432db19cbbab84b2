/** The body of a request once it has arrived: JSON in memory, a form with its files on the disk. */
import { Buffer } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors.ts';
import { bodyChunks, jsonLimit, parseJson, readBody, uploadLimit } from './body.ts';
import { type FingerprintedRequest, fingerprint, startFingerprint } from './idempotency/idempotency-request.ts';
import { MultipartReader, type PartContent, type PartHead } from './multipart.ts';
import { ReceivedFile } from './received-file.ts';

/** Bytes of text that the fields of a form may have together. */
const textLimit = 64 * 1024;

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
  readonly #parts = new Map<PartHead, ReceivedFile | Buffer[]>();
  #textLength = 0;

  constructor(openDisk: () => Promise<FileHandle>) {
    this.#openDisk = openDisk;
  }

  async begin(contentType: string | undefined): Promise<void> {
    this.#reader = await MultipartReader.open(contentType);
  }

  async add(chunk: Buffer): Promise<void> {
    await this.#keep(await this.#reader?.read(chunk));
  }

  async end(): Promise<void> {
    await this.#keep(await this.#reader?.end());
  }

  fields(): Record<string, unknown> {
    return Object.fromEntries(
      [...this.#parts].map(([{ name }, content]) => [
        name,
        content instanceof ReceivedFile ? content : new TextDecoder().decode(Buffer.concat(content)),
      ]),
    );
  }

  async close(): Promise<void> {
    for (const content of this.#parts.values()) if (content instanceof ReceivedFile) await content.close();
  }

  async #keep(found: PartContent[] = []): Promise<void> {
    for (const [part, bytes] of found) {
      const content = this.#parts.get(part) ?? (part.isFile ? new ReceivedFile(this.#openDisk) : []);
      this.#parts.set(part, content);
      if (content instanceof ReceivedFile) await content.add(bytes);
      else this.#addText(content, bytes);
    }
  }

  #addText(content: Buffer[], bytes: Buffer): void {
    this.#textLength += bytes.length;
    if (this.#textLength > textLimit)
      throw new ServiceError(400, 'invalid_request', `The multipart body has more than ${textLimit} bytes of text fields.`);
    content.push(bytes);
  }
}
