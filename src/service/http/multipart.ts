/**
 * Reads multipart/form-data (RFC 7578, RFC 2046 section 5.1) as it comes, in pieces of any size. What belongs to no part is
 * skipped, and of a piece only what may be the beginning of a boundary is kept until the next.
 */
import { Buffer } from 'node:buffer';
import { ServiceError } from '../errors.ts';
import { contentEssence } from './body.ts';

/** The beginning of a part; its content follows. */
export interface PartHead {
  readonly name: string;
  /** Whether it has a file name, be it an empty one. */
  readonly isFile: boolean;
}

/** Bytes that the headers of one part may take. */
const headLimit = 16 * 1024;
const lineEnd = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');
const dash = 0x2d;

/** The boundary that a Content-Type names. Throws 400 `invalid_request`. */
export function boundaryOf(contentType: string | undefined): string {
  if (contentType === undefined || contentEssence(contentType) !== 'multipart/form-data')
    throw new ServiceError(400, 'invalid_request', 'The body must be multipart/form-data.');
  const { boundary = '' } = parametersOf(contentType);
  if (!/^[\x20-\x7e]{0,69}[\x21-\x7e]$/.test(boundary)) throw unreadable();
  return boundary;
}

export class MultipartReader {
  readonly #delimiter: Buffer;
  /** The first boundary may be all that the body begins with. */
  #kept: Buffer = lineEnd;
  #at: 'preamble' | 'boundary' | 'head' | 'content' | 'end' = 'preamble';

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** What the next piece of the body brings: beginnings of parts, and their content. Throws 400 `invalid_request`. */
  *read(piece: Buffer): Generator<PartHead | Buffer, void> {
    let bytes = this.#kept.length === 0 ? piece : Buffer.concat([this.#kept, piece]);
    for (;;) {
      const step = this.#step(bytes);
      if (step.found !== undefined) yield step.found;
      bytes = step.left;
      if (!step.goOn) break;
    }
    // A copy: a few bytes are not to keep all of the piece.
    this.#kept = Buffer.from(bytes);
  }

  /** Throws 400 `invalid_request` when the last boundary has not come. */
  end(): void {
    if (this.#at !== 'end') throw unreadable();
  }

  #step(bytes: Buffer): { found?: PartHead | Buffer; left: Buffer; goOn: boolean } {
    if (this.#at === 'end') return { left: bytes.subarray(bytes.length), goOn: false };
    if (this.#at === 'boundary') return this.#afterBoundary(bytes);
    if (this.#at === 'head') return this.#head(bytes);
    const isContent = this.#at === 'content';
    const at = bytes.indexOf(this.#delimiter);
    const until = at >= 0 ? at : Math.max(0, bytes.length - this.#delimiter.length + 1);
    if (at >= 0) this.#at = 'boundary';
    return {
      ...(isContent && until > 0 ? { found: bytes.subarray(0, until) } : {}),
      left: bytes.subarray(at >= 0 ? at + this.#delimiter.length : until),
      goOn: at >= 0,
    };
  }

  /** Two dashes end the form; otherwise the line ends, perhaps after blanks. */
  #afterBoundary(bytes: Buffer): { left: Buffer; goOn: boolean } {
    if (bytes[0] === dash && bytes[1] === dash) {
      this.#at = 'end';
      return { left: bytes, goOn: true };
    }
    const end = bytes.indexOf(lineEnd);
    const line = bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
    if (!(end < 0 ? /^(-|[ \t]*\r?)$/ : /^[ \t]*$/).test(line) || line.length > headLimit) throw unreadable();
    if (end < 0) return { left: bytes, goOn: false };
    this.#at = 'head';
    // The end of that line stays: where a part has no headers, it is the first half of what ends them.
    return { left: bytes.subarray(end), goOn: true };
  }

  #head(bytes: Buffer): { found?: PartHead; left: Buffer; goOn: boolean } {
    const end = bytes.indexOf(headEnd);
    if ((end < 0 ? bytes.length : end) > headLimit) throw unreadable();
    if (end < 0) return { left: bytes, goOn: false };
    this.#at = 'content';
    return { found: partHead(bytes.toString('utf8', 0, end)), left: bytes.subarray(end + headEnd.length), goOn: true };
  }
}

function partHead(text: string): PartHead {
  const value = /^content-disposition:[ \t]*(?<value>form-data[ \t]*(?:;.*)?)$/im.exec(text.replaceAll('\r\n', '\n'))?.groups?.value;
  const { name, filename, 'filename*': extended } = parametersOf(value ?? '');
  if (name === undefined) throw unreadable();
  return { name: unescaped(name), isFile: (filename ?? extended) !== undefined };
}

/** The parameters of a header, by their names in small letters. */
function parametersOf(header: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = '', quoted, plain = ''] of header.matchAll(/;[ \t]*([^\s;="]+)[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]*))/g))
    found[name.toLowerCase()] ??= quoted ?? plain;
  return found;
}

/** As the HTML standard escapes names in form data. */
const unescaped = (text: string): string => text.replaceAll(/%22/g, '"').replaceAll(/%0d/gi, '\r').replaceAll(/%0a/gi, '\n');

const unreadable = (): ServiceError =>
  new ServiceError(400, 'invalid_request', 'The multipart body could not be read; is its boundary right, and is it complete?');
