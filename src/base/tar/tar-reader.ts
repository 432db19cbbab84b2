/**
 * Reads a tar archive entry by entry, whichever program wrote it, as far as aops needs it. tar-stream ignores some kinds of damage
 * and waits forever after others; both are rejected here, like headers that two programs could understand differently.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { type Extract, extract, type Header } from 'tar-stream';
import { InvalidArchiveError, sumKeyword, type TarEntry, type TarType } from './tar-entry.ts';

const block = 512;
/** An extended header contains names, sizes, and checksums. */
const maxExtendedHeaderBytes = 65_536;

const types = { file: 'file', directory: 'folder', symlink: 'link' } as const satisfies Record<string, TarType>;

/** An entry with its content, which can be read until the next entry is requested; otherwise it is skipped. */
export interface ReadEntry extends TarEntry {
  /** Where its content begins in the archive, in bytes. */
  position: number;
  content(): AsyncGenerator<Buffer>;
}

/**
 * The entries of an archive.
 * @throws InvalidArchiveError for anything that is not an archive, ends too early, or contains other types of entries; and whatever the
 * source throws, after the entries that arrived before
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const parser = new StrictParser();
  const input = new Input(source, parser.stream);
  try {
    for await (const stream of parser.stream) {
      const entry = entryOf(stream.header);
      parser.end = endOf(stream.offset + block, entry.size);
      const content = async function* (): AsyncGenerator<Buffer> {
        try {
          yield* stream as AsyncIterable<Buffer>;
        } catch (error) {
          throw await input.reasonOf(error);
        }
      };
      yield { ...entry, position: stream.offset + block, content };
      // The next entry is parsed only when this one has been read completely.
      stream.resume();
    }
  } catch (error) {
    throw await input.reasonOf(error);
  } finally {
    input.stop();
  }
  // At least one empty block marks the end.
  if (input.hasFailed || input.bytes < parser.end + block) throw input.earlyEnd();
}

/** Where content ends, with its padding. */
const endOf = (start: number, size: number): number => start + Math.ceil(size / block) * block;

/** Passes a source on to the parser, no faster than the entries are read. */
class Input {
  bytes = 0;
  readonly #parser: Extract;
  readonly #stopController = new AbortController();
  /** The error that ended the parser. The stream of an entry that is being read at that moment only reports that it was destroyed. */
  readonly #parserError: Promise<unknown>;
  #sourceFailure: { error: unknown } | undefined;

  constructor(source: AsyncIterable<Uint8Array>, parser: Extract) {
    this.#parser = parser;
    this.#parserError = once(parser, 'close').then(
      () => undefined,
      (error: unknown) => error,
    );
    void this.#feed(source);
  }

  get hasFailed(): boolean {
    return this.#sourceFailure !== undefined;
  }

  /** Stops reading, without waiting: the source may be waiting for its next bytes, and is closed by the caller that opened it. */
  stop(): void {
    this.#stopController.abort();
    this.#parser.destroy();
  }

  /** Why reading failed. @param error what was thrown after the parser had been destroyed */
  async reasonOf(error: unknown): Promise<unknown> {
    const reason = (await this.#parserError) ?? error;
    if (reason instanceof InvalidArchiveError || !(reason instanceof Error)) return reason;
    return reason.message === 'Unexpected end of data'
      ? this.earlyEnd(reason)
      : new InvalidArchiveError('a header in it cannot be read', { cause: reason });
  }

  /** The error for an archive that is not complete: that of the source, if it has failed. */
  earlyEnd(cause?: Error): unknown {
    return this.#sourceFailure === undefined ? new InvalidArchiveError('it ends too early', { cause }) : this.#sourceFailure.error;
  }

  async #feed(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of source) {
        this.bytes += chunk.length;
        if (!this.#parser.write(chunk) && !(await this.#hasDrained())) return;
      }
    } catch (error) {
      // The entries that arrived before are still read.
      this.#sourceFailure = { error };
    }
    this.#parser.end(undefined);
  }

  #hasDrained(): Promise<boolean> {
    return once(this.#parser, 'drain', { signal: this.#stopController.signal }).then(
      () => true,
      () => false,
    );
  }
}

function entryOf(header: Header): TarEntry {
  const type = types[header.type as keyof typeof types];
  if (type === undefined) throw unexpectedType(header.type ?? 'unknown');
  const { size, mode, mtime } = header;
  const pax = header.pax as Readonly<Record<string, string>> | null;
  // tar-stream reads an invalid size as null, or as the digits that it begins with.
  if (!Number.isSafeInteger(size) || (pax?.size !== undefined && pax.size !== String(size)))
    throw new InvalidArchiveError('it contains an entry without a valid size');
  if (type !== 'file' && size !== 0) throw new InvalidArchiveError(`it contains a ${type} with content`);
  // The values of extended headers were UTF-8 (`checkRecords`).
  const name = pax?.path ? pax.path : decode(header.name);
  const target = pax?.linkpath ? pax.linkpath : decode(header.linkname ?? '');
  const modifiedAt = Number(pax?.mtime ?? mtime.getTime() / 1_000);
  return {
    // Other programs mark folders with a slash at the end.
    name: type === 'folder' ? name.replace(/\/$/, '') : name,
    type,
    size,
    mode,
    modifiedAt: Number.isFinite(modifiedAt) ? modifiedAt : 0,
    ...(type === 'link' ? { target } : {}),
    ...(pax?.[sumKeyword] === undefined ? {} : { sha256: pax[sumKeyword] }),
  };
}

const unexpectedType = (type: string): InvalidArchiveError =>
  new InvalidArchiveError(
    type.startsWith('gnu-')
      ? `it contains an entry of type "${type}", which is not in the format of POSIX (\`tar --format posix\`)`
      : `it contains an entry of type "${type}", which is not allowed`,
  );

/** A name in a header, whose bytes tar-stream read as Latin-1. As UTF-8, it would replace invalid bytes. */
function decode(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  if (!isUtf8(bytes)) throw notUtf8();
  return bytes.toString();
}

const notUtf8 = (): InvalidArchiveError => new InvalidArchiveError('it contains a name that is not UTF-8');

/** What tar-stream has, but does not declare. */
type OpenExtract = Extract & {
  _header: { type: string; size: number; byteOffset: number };
  _pax: unknown;
  _decodeLongHeader(bytes: Buffer): void;
};

/**
 * A parser that rejects extended headers of which tar-stream would read only a part: those with records that are malformed or longer
 * than the header, two for one entry, and those of other kinds (GNU, global). The method is not public; tests fail if another version of
 * tar-stream no longer calls it.
 */
class StrictParser {
  /** Where the last entry ends, or an extended header that no entry follows, with its padding. */
  end = 0;
  readonly stream: Extract;

  constructor() {
    // The types lack this option.
    const options: { filenameEncoding: string } & Parameters<typeof extract>[0] = { filenameEncoding: 'latin1' };
    const parser = extract(options) as OpenExtract;
    const decodeHeader = parser._decodeLongHeader;
    parser._decodeLongHeader = (bytes) => {
      const { type, size, byteOffset } = parser._header;
      if (type !== 'pax-header') throw unexpectedType(type);
      if (parser._pax !== null) throw new InvalidArchiveError('it contains two headers for one entry');
      checkRecords(bytes);
      this.end = endOf(byteOffset, size);
      decodeHeader.call(parser, bytes);
    };
    this.stream = parser;
  }
}

/** Checks the records of an extended header: `29 path=...` and a line break, each with its own length in front. */
function checkRecords(bytes: Buffer): void {
  if (bytes.length > maxExtendedHeaderBytes) throw new InvalidArchiveError('it contains a header that is too long');
  if (!isUtf8(bytes)) throw notUtf8();
  for (let offset = 0; offset < bytes.length; ) {
    const [, length] = /^([1-9]\d{0,4}) /.exec(bytes.toString('latin1', offset, offset + 6)) ?? [];
    const end = offset + Number(length);
    const equals = bytes.indexOf('=', offset);
    // If a record ends beyond the header or has no length, this byte is undefined.
    if (bytes[end - 1] !== 0x0a || equals < 0 || equals >= end) throw new InvalidArchiveError('a header in it cannot be read');
    offset = end;
  }
}
