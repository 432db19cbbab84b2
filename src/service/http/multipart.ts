/**
 * Reads multipart/form-data (RFC 7578) as it comes, in pieces of any size. What belongs to no part is skipped, and so is a part that
 * does not say that it is form data. The parser is loaded with the first form: most services never get one.
 */
import { Buffer } from 'node:buffer';
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '../errors.ts';
import { contentEssence } from './body.ts';

/** The beginning of a part. */
export interface PartHead {
  readonly name: string;
  /** Whether it has a file name, be it an empty one. */
  readonly isFile: boolean;
}

/** Some of the content of a part; the first one of a part is empty. Parts begin in their order, the content of two may mix. */
export type PartContent = readonly [part: PartHead, bytes: Buffer];

const partLimit = 16;
/** Bytes of the headers of one part that are looked at. */
const headLimit = 16 * 1024;
const nothing = Buffer.alloc(0);

/** A boundary has 1 to 70 characters, and does not end in a blank (RFC 2046 section 5.1.1). */
const namesBoundary = /;[ \t]*boundary=(?:"[ !#-~]{0,69}[!#-~]"|[!#-:<-~]{1,70})[ \t]*(?:;|$)/i;

export class MultipartReader {
  readonly #parser: BusboyInstance;
  /** The parser has seen the last boundary, or that it is missing. This can happen before the end of the body. */
  readonly #over: Promise<unknown>;
  #found: PartContent[] = [];
  #problem: ServiceError | undefined;

  private constructor(parser: BusboyInstance) {
    this.#parser = parser;
    parser.on('file', (name: string | undefined, content, filename: string | undefined) => this.#begin(name, content, filename));
    parser.on('partsLimit', () =>
      this.#fail(new ServiceError(400, 'invalid_request', `The multipart body has more than ${partLimit} parts.`)),
    );
    parser.on('error', () => this.#fail(unreadable()));
    this.#over = new Promise<unknown>((resolve) => parser.once('finish', () => resolve(undefined)).once('error', resolve));
  }

  /** Begins a form of that Content-Type. Throws 400 `invalid_request`. */
  static async open(contentType: string | undefined): Promise<MultipartReader> {
    if (contentType === undefined || contentEssence(contentType) !== 'multipart/form-data')
      throw new ServiceError(400, 'invalid_request', 'The body must be multipart/form-data.');
    if (!namesBoundary.test(contentType)) throw unreadable();
    const { Busboy } = await import('@fastify/busboy');
    const options = {
      headers: { 'content-type': contentType },
      limits: { parts: partLimit, headerSize: headLimit },
      // Its streams must not wait for one another: it hangs where a part that is skipped is larger than they hold. How much is
      // in memory is bounded by the piece that is read.
      highWaterMark: Number.MAX_SAFE_INTEGER,
      fileHwm: Number.MAX_SAFE_INTEGER,
      // Text comes in pieces, too: its limit is one for all fields, and it is UTF-8 whatever a part says.
      isPartAFile: () => true,
    };
    try {
      return new MultipartReader(new Busboy(options));
    } catch {
      // What looks like a boundary may lie within another parameter.
      throw unreadable();
    }
  }

  /** What was found in the body up to the end of its next piece. Throws 400 `invalid_request`. */
  async read(piece: Buffer): Promise<PartContent[]> {
    await new Promise<unknown>((resolve) => this.#parser.write(piece, resolve));
    return this.#take();
  }

  /** What was found since. Throws 400 `invalid_request` when the last boundary has not come. */
  async end(): Promise<PartContent[]> {
    this.#parser.end();
    await this.#over;
    return this.#take();
  }

  #take(): PartContent[] {
    if (this.#problem !== undefined) throw this.#problem;
    return this.#found.splice(0);
  }

  #begin(name: string | undefined, content: BusboyFileStream, filename: string | undefined): void {
    if (name === undefined) this.#fail(unreadable());
    const part = { name: unescaped(name ?? ''), isFile: filename !== undefined };
    this.#found.push([part, nothing]);
    content.on('data', (bytes: Buffer) => this.#found.push([part, bytes]));
    // A truncated part is reported for the form as well.
    content.on('error', () => undefined);
  }

  #fail(problem: ServiceError): void {
    this.#problem ??= problem;
  }
}

/** As the HTML standard escapes names in form data. */
const unescaped = (text: string): string => text.replaceAll(/%22/g, '"').replaceAll(/%0d/gi, '\r').replaceAll(/%0a/gi, '\n');

const unreadable = (): ServiceError =>
  new ServiceError(400, 'invalid_request', 'The multipart body could not be read; is its boundary right, and is it complete?');
