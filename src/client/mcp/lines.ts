/** Messages on a stream, one per line. */

/** Stands for a line that exceeds the limit. */
export const tooLong = Symbol('too long');

/**
 * The lines of a stream without their line ends, omitting empty ones; chunks may end anywhere, even within a character. A line
 * longer than `limit` bytes is reported as `tooLong`.
 */
export async function* readLines(stream: AsyncIterable<Uint8Array | string>, limit: number): AsyncGenerator<Buffer | typeof tooLong> {
  let parts: Buffer[] = [];
  let size = 0;
  const line = (): Buffer | typeof tooLong | undefined => {
    const line = size > limit ? tooLong : Buffer.concat(parts);
    parts = [];
    size = 0;
    if (line === tooLong) return line;
    const end = line.at(-1) === 0x0d ? line.length - 1 : line.length;
    return end === 0 ? undefined : line.subarray(0, end);
  };
  const keep = (part: Buffer): void => {
    size += part.length;
    if (size > limit) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    let start = 0;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      keep(bytes.subarray(start, end));
      const nextLine = line();
      if (nextLine !== undefined) yield nextLine;
      start = end + 1;
    }
    keep(bytes.subarray(start));
  }
  const lastLine = line();
  if (lastLine !== undefined) yield lastLine;
}
