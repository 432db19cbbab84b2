/** A received request body: JSON in memory, or a form with its files on the disk. */
import { Buffer } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors.ts';
import { archiveLimit, bodyChunks, contentEssence, jsonLimit, parseJson, readBody, uploadLimit } from './body.ts';
import { type FingerprintedRequest, fingerprint, startFingerprint } from './idempotency/idempotency-request.ts';
import { MultipartReader, type PartContent, type PartHead } from './multipart.ts';
import { ReceivedFile } from './received-file.ts';

/** Maximum size of all text fields of a form together, in bytes. */
const textLimit = 64 * 1024;

export interface ReceivedBody {
  /** The raw bytes; empty for a form. */
  readonly bytes: Buffer;
  /** The parsed value. Throws 400 `invalid_request`. */
  value(): unknown;
  /** Distinguishes the request from others. */
  fingerprint(): string;
  /** Call this when the body is no longer needed. */
  close(): Promise<void>;
}

const noBytes = Buffer.alloc(0);
const noClose = async (): Promise<void> => undefined;

/** A JSON body, or any body that its operation parses itself. Throws 413 `body_too_large`, 408 `request_timeout`. */
export async function receiveBytes(
  request: IncomingMessage,
  requestLine: FingerprintedRequest,
  options: { isEmpty: boolean; milliseconds: number },
): Promise<ReceivedBody> {
  const bytes = options.isEmpty ? noBytes : await readBody(request, jsonLimit, options.milliseconds);
  return {
    bytes,
    value: () => parseJson(bytes, request.headers['content-type']),
    fingerprint: () => fingerprint(requestLine, bytes),
    close: noClose,
  };
}

/**
 * A form. Its text fields are strings and each file is a `ReceivedFile`; of fields with the same name the last one is used. Problems are
 * only reported by `value`, because the whole form has to be read to know whether the request is a repeat of an earlier one.
 * Throws 413 `body_too_large`, 408 `request_timeout`.
 */
export async function receiveForm(
  request: IncomingMessage,
  requestLine: FingerprintedRequest,
  options: { milliseconds: number; openDisk: () => Promise<FileHandle> },
): Promise<ReceivedBody> {
  const print = startFingerprint(requestLine);
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
    bytes: noBytes,
    value() {
      if (problem !== undefined) throw problem;
      return form.fields();
    },
    fingerprint: () => digest,
    close: () => form.close(),
  };
}

/**
 * A body that is one file of a media type other than JSON. Its value is a `ReceivedFile`. Throws 413 `body_too_large`,
 * 408 `request_timeout`.
 */
export async function receiveFile(
  request: IncomingMessage,
  requestLine: FingerprintedRequest,
  options: { type: string; milliseconds: number; openDisk: () => Promise<FileHandle> },
): Promise<ReceivedBody> {
  const print = startFingerprint(requestLine);
  const file = new ReceivedFile(options.openDisk);
  try {
    for await (const chunk of bodyChunks(request, archiveLimit, options.milliseconds)) {
      print.update(chunk);
      await file.add(chunk);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  const digest = print.digest('hex');
  return {
    bytes: noBytes,
    value() {
      if (contentEssence(request.headers['content-type']) === options.type) return file;
      throw new ServiceError(400, 'invalid_request', `The body must have the header "Content-Type: ${options.type}".`);
    },
    fingerprint: () => digest,
    close: () => file.close(),
  };
}

/** A form while it is being received. */
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
    await this.#store(await this.#reader?.read(chunk));
  }

  async end(): Promise<void> {
    await this.#store(await this.#reader?.end());
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

  async #store(parts: PartContent[] = []): Promise<void> {
    for (const [part, bytes] of parts) {
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
