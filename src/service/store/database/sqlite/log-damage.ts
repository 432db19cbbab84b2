/**
 * Finds the part of a write-ahead log that SQLite ignores: it reads up to the first damaged frame, and silently ignores the rest. The
 * format is that of https://www.sqlite.org/fileformat2.html#walformat.
 */
import { type FileHandle, open } from 'node:fs/promises';

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The first word of a log. Its last bit is the byte order of the checksums. */
const magic = 0x377f0682;
/** How many frames are read at a time: 1 MiB of pages of 4 KiB. */
const framesAtOnce = 256;

/** What was ignored. A transaction that was interrupted by a crash does not count, because it was never acknowledged. */
export interface LogDamage {
  /** Frames of the log after the last usable one. */
  frames: number;
  /** Transactions that end with one of these frames. */
  transactions: number;
  /** Whether the file ends in the middle of a frame. */
  cutOff: boolean;
}

/** Examines the log of a database that has not been written to since it was opened. Undefined if nothing was ignored. */
export async function logDamage(path: string): Promise<LogDamage | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    return size <= headerBytes ? undefined : await damageIn(file, size);
  } finally {
    await file.close();
  }
}

async function damageIn(file: FileHandle, size: number): Promise<LogDamage | undefined> {
  const header = await bytesAt(file, 0, headerBytes);
  const salts = header.subarray(16, 24);
  const pageSize = header.readUInt32BE(8);
  const frameBytes = frameHeaderBytes + pageSize;
  const damage: LogDamage = { frames: 0, transactions: 0, cutOff: true };
  // A log without its header cannot be examined, and SQLite ignores all of it.
  if (pageSize < 512 || pageSize > 65_536) return damage;
  damage.cutOff = (size - headerBytes) % frameBytes !== 0;
  const checksum = new Checksum((header.readUInt32BE(0) & 1) === 1);
  checksum.add(header.subarray(0, 24));
  let isSound = (header.readUInt32BE(0) & ~1) >>> 0 === magic && checksum.isAt(header, 24);
  // Frames of a transaction whose end has not been seen yet.
  let frameCount = 0;
  for await (const frame of framesOf(file, size, frameBytes)) {
    // The salts distinguish the frames of this log from those of the previous one, which it overwrites.
    if (!frame.subarray(8, 16).equals(salts)) {
      isSound = false;
      continue;
    }
    if (isSound) {
      checksum.add(frame.subarray(0, 8));
      checksum.add(frame.subarray(frameHeaderBytes));
      isSound = checksum.isAt(frame, 16);
      if (isSound) continue;
    }
    frameCount += 1;
    // The last frame of a transaction contains the size of the database.
    if (frame.readUInt32BE(4) === 0) continue;
    damage.frames += frameCount;
    damage.transactions += 1;
    frameCount = 0;
  }
  return damage.transactions > 0 || damage.cutOff ? damage : undefined;
}

/** The complete frames of a log, read in portions. */
async function* framesOf(file: FileHandle, size: number, frameBytes: number): AsyncGenerator<Buffer> {
  const count = Math.floor((size - headerBytes) / frameBytes);
  for (let first = 0; first < count; first += framesAtOnce) {
    const batchSize = Math.min(framesAtOnce, count - first);
    const bytes = await bytesAt(file, headerBytes + first * frameBytes, batchSize * frameBytes);
    for (let index = 0; index < batchSize; index++) yield bytes.subarray(index * frameBytes, (index + 1) * frameBytes);
  }
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await file.read(bytes, 0, length, position);
  return bytes;
}

/** The checksum of everything so far. */
class Checksum {
  readonly #isLittleEndian: boolean;
  #checksum1 = 0;
  #checksum2 = 0;

  constructor(isBigEndian: boolean) {
    this.#isLittleEndian = !isBigEndian;
  }

  /** @param bytes complete pairs of words */
  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let offset = 0; offset + 8 <= bytes.length; offset += 8) {
      this.#checksum1 = (this.#checksum1 + view.getUint32(offset, this.#isLittleEndian) + this.#checksum2) >>> 0;
      this.#checksum2 = (this.#checksum2 + view.getUint32(offset + 4, this.#isLittleEndian) + this.#checksum1) >>> 0;
    }
  }

  /** Whether it equals the checksum at an offset. */
  isAt(bytes: Buffer, offset: number): boolean {
    return bytes.readUInt32BE(offset) === this.#checksum1 && bytes.readUInt32BE(offset + 4) === this.#checksum2;
  }
}
