/** Bytes in pieces of one size, for stores that take them so. */
import { Buffer } from 'node:buffer';

/** The same bytes in pieces of `length` bytes each; only the last piece may be shorter, and there are no empty ones. */
export async function* inPieces(data: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Buffer> {
  let pending: Uint8Array[] = [];
  let pendingLength = 0;
  for await (const chunk of data) {
    let rest = chunk;
    while (pendingLength + rest.byteLength >= length) {
      const end = length - pendingLength;
      yield Buffer.concat([...pending, rest.subarray(0, end)], length);
      rest = rest.subarray(end);
      pending = [];
      pendingLength = 0;
    }
    if (rest.byteLength === 0) continue;
    // A copy, because some sources use the memory of a chunk again.
    pending.push(Buffer.from(rest));
    pendingLength += rest.byteLength;
  }
  if (pendingLength > 0) yield Buffer.concat(pending, pendingLength);
}
