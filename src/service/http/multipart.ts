/**
 * Reads multipart/form-data (RFC 7578) incrementally, in chunks of any size. Bytes outside of parts are skipped, and so are parts that
 * are not form data. The parser is loaded with the first form, because most services never receive one.
 */
import { Buffer } from 'node:buffer';
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '../errors.ts';
import { contentEssence } from './body.ts';

/** The beginning of a part. */
export interface PartHead {
  readonly name: string;
  /** Whether it has a file name, which may be empty. */
  readonly isFile: boolean;
}

/** A piece of the content of a part; the first piece of a part is empty. Parts start in order, but their contents may be interleaved. */
export type PartContent = readonly [part: PartHead, bytes: Buffer];

const partLimit = 16;
/** Maximum size of the headers of one part, in bytes. */
const headLimit = 16 * 1024;
const noBytes = Buffer.alloc(0);

/** A boundary has 1 to 70 characters and does not end with a space (RFC 2046 section 5.1.1). */
const namesBoundary = /;[ \t]*boundary=(?:"[ !#-~]{0,69}[!#-~]"|[!#-:<-~]{1,70})[ \t]*(?:;|$)/i;

export class MultipartReader {
  readonly #parser: BusboyInstance;
  /** Resolves when the parser has found the last boundary, or that it is missing. This may happen before the end of the body. */
  readonly #end: Promise<unknown>;
  #parts: PartContent[] = [];
  #problem: ServiceError | undefined;

  private constructor(parser: BusboyInstance) {
    this.#parser = parser;
    parser.on('file', (name: string | undefined, content, filename: string | undefined) => this.#begin(name, content, filename));
    parser.on('partsLimit', () =>
      this.#fail(new ServiceError(400, 'invalid_request', `The multipart body has more than ${partLimit} parts.`)),
    );
    parser.on('error', () => this.#fail(unreadable()));
    this.#end = new Promise<unknown>((resolve) => parser.once('finish', () => resolve(undefined)).once('error', resolve));
  }

  /** Starts to read a form with this Content-Type. Throws 400 `invalid_request`. */
  static async open(contentType: string | undefined): Promise<MultipartReader> {
    if (contentType === undefined || contentEssence(contentType) !== 'multipart/form-data')
      throw new ServiceError(400, 'invalid_request', 'The body must be multipart/form-data.');
    if (!namesBoundary.test(contentType)) throw unreadable();
    const { Busboy } = await import('@fastify/busboy');
    const options = {
      headers: { 'content-type': contentType },
      limits: { parts: partLimit, headerSize: headLimit },
      // The parser's streams must not wait for one another: it would hang if a skipped part were larger than their buffers. Memory is
      // limited by the size of the chunks that are read.
      highWaterMark: Number.MAX_SAFE_INTEGER,
      fileHwm: Number.MAX_SAFE_INTEGER,
      // Text is streamed too: its limit applies to all fields together, and it is UTF-8 whatever a part declares.
      isPartAFile: () => true,
    };
    try {
      return new MultipartReader(new Busboy(options));
    } catch {
      // The match may be inside another parameter, so that there is no boundary.
      throw unreadable();
    }
  }

  /** The contents found in the next chunk of the body. Throws 400 `invalid_request`. */
  async read(piece: Buffer): Promise<PartContent[]> {
    await new Promise<unknown>((resolve) => this.#parser.write(piece, resolve));
    return this.#take();
  }

  /** The remaining contents. Throws 400 `invalid_request` when the last boundary is missing. */
  async end(): Promise<PartContent[]> {
    this.#parser.end();
    await this.#end;
    return this.#take();
  }

  #take(): PartContent[] {
    if (this.#problem !== undefined) throw this.#problem;
    return this.#parts.splice(0);
  }

  #begin(name: string | undefined, content: BusboyFileStream, filename: string | undefined): void {
    if (name === undefined) this.#fail(unreadable());
    const part = { name: unescapeText(name ?? ''), isFile: filename !== undefined };
    this.#parts.push([part, noBytes]);
    content.on('data', (bytes: Buffer) => this.#parts.push([part, bytes]));
    // A truncated part is also reported for the whole form.
    content.on('error', () => undefined);
  }

  #fail(problem: ServiceError): void {
    this.#problem ??= problem;
  }
}

/** Reverses the escaping of names in form data by the HTML standard. */
const unescapeText = (text: string): string => text.replaceAll(/%22/g, '"').replaceAll(/%0d/gi, '\r').replaceAll(/%0a/gi, '\n');

const unreadable = (): ServiceError =>
  new ServiceError(
    400,
    'invalid_request',
    'The multipart body could not be read. Check that its boundary is correct and that it is complete.',
  );
