/**
 * Reads a tar archive entry by entry, whichever program wrote it, as far as backups need it. tar-stream ignores some kinds of damage
 * and waits forever after others; both are rejected here.
 */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type Extract, extract, type Header } from 'tar-stream';
import { AopsError } from '../../base/errors.ts';
import { damagedBackup } from './problems.ts';
import type { TarEntry, TarType } from './tar-entry.ts';

const block = 512;
/** An extended header contains names and sizes; a longer one does not come from a backup. */
const maxExtendedHeaderBytes = 65_536;

const types = { file: 'file', directory: 'folder', symlink: 'link' } as const satisfies Record<string, TarType>;

/** An entry with its content, which can be read until the next entry is requested; otherwise it is skipped. */
export interface ReadEntry extends TarEntry {
  content(): AsyncGenerator<Buffer>;
}

/**
 * The entries of an archive.
 * @throws AopsError `backup_damaged` for anything that is not an archive, ends too early, or contains other types of entries; and
 * whatever the source throws
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const parser = strictParser();
  const input = new Input(source, parser);
  /** Where the last entry ends, with its padding. */
  let end = 0;
  try {
    for await (const stream of parser) {
      const entry = entryOf(stream.header);
      end = stream.offset + block + Math.ceil(entry.size / block) * block;
      const content = async function* (): AsyncGenerator<Buffer> {
        try {
          yield* stream as AsyncIterable<Buffer>;
        } catch (error) {
          throw await input.reasonOf(error);
        }
      };
      yield { ...entry, content };
      // The next entry is parsed only when this one has been read completely.
      stream.resume();
    }
  } catch (error) {
    throw await input.reasonOf(error);
  } finally {
    input.stop();
  }
  // At least one empty block marks the end.
  if (input.bytes < end + block) throw damagedBackup('it ends too early');
}

/** Passes a source on to the parser, no faster than the entries are read. */
class Input {
  bytes = 0;
  readonly #parser: Extract;
  readonly #stopController = new AbortController();
  /** The error that ended the parser. The stream of an entry that is being read at that moment only reports that it was destroyed. */
  readonly #parserError: Promise<unknown>;
  #sourceError: unknown;

  constructor(source: AsyncIterable<Uint8Array>, parser: Extract) {
    this.#parser = parser;
    this.#parserError = once(parser, 'close').then(
      () => undefined,
      (error: unknown) => error,
    );
    void this.#feed(source);
  }

  /** Stops reading, without waiting: the source may be waiting for its next bytes, and is closed by the caller that opened it. */
  stop(): void {
    this.#stopController.abort();
    this.#parser.destroy();
  }

  /** Why reading failed. @param error what was thrown after the parser had been destroyed */
  async reasonOf(error: unknown): Promise<unknown> {
    const reason = (await this.#parserError) ?? error;
    if (reason instanceof AopsError || reason === this.#sourceError || !(reason instanceof Error)) return reason;
    return damagedBackup(reason.message === 'Unexpected end of data' ? 'it ends too early' : 'a header in it cannot be read', reason);
  }

  async #feed(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of source) {
        this.bytes += chunk.length;
        if (!this.#parser.write(chunk) && !(await this.#hasDrained())) return;
      }
    } catch (error) {
      this.#sourceError = error;
      this.#parser.destroy(error as Error);
      return;
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
  if (type === undefined) throw damagedBackup(`it contains an entry of type "${header.type ?? 'unknown'}", which no backup has`);
  const { size, mode, mtime } = header;
  const pax = header.pax as Readonly<Record<string, string>> | null;
  // tar-stream reads an invalid size as null, or as the digits that it begins with.
  if (!Number.isSafeInteger(size) || (pax?.size !== undefined && pax.size !== String(size)))
    throw damagedBackup('it contains an entry without a valid size');
  if (type !== 'file' && size !== 0) throw damagedBackup(`it contains a ${type} with content`);
  const modifiedAt = Number(pax?.mtime ?? mtime.getTime() / 1_000);
  return {
    // Other programs mark folders with a slash at the end.
    name: header.name.replace(/\/$/, ''),
    type,
    size,
    mode,
    modifiedAt: Number.isFinite(modifiedAt) ? modifiedAt : 0,
    ...(type === 'link' ? { target: header.linkname ?? '' } : {}),
  };
}

/**
 * A parser that rejects extended headers of which tar-stream would read only a part: those with records that are malformed or longer
 * than the header, and those of other kinds (GNU, global), which no backup contains. The method is not public; tests fail if another
 * version of tar-stream no longer calls it.
 */
function strictParser(): Extract {
  const parser = extract() as Extract & { _header: { type: string }; _decodeLongHeader(bytes: Buffer): void };
  const decode = parser._decodeLongHeader;
  parser._decodeLongHeader = (bytes) => {
    const { type } = parser._header;
    if (type !== 'pax-header') throw damagedBackup(`it contains an entry of type "${type}", which no backup has`);
    checkRecords(bytes);
    decode.call(parser, bytes);
  };
  return parser;
}

/** Checks the records of an extended header: `29 path=...` and a line break, each with its own length in front. */
function checkRecords(bytes: Buffer): void {
  if (bytes.length > maxExtendedHeaderBytes) throw damagedBackup('it contains a header that is too long');
  for (let offset = 0; offset < bytes.length; ) {
    const [, length] = /^([1-9]\d{0,4}) /.exec(bytes.toString('latin1', offset, offset + 6)) ?? [];
    const end = offset + Number(length);
    const equals = bytes.indexOf('=', offset);
    // If a record ends beyond the header or has no length, this byte is undefined.
    if (bytes[end - 1] !== 0x0a || equals < 0 || equals >= end) throw damagedBackup('a header in it cannot be read');
    offset = end;
  }
}
