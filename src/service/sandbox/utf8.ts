/** UTF-8 that is cut off at a byte limit. */

/**
 * The length of `bytes` without a character that is cut off at the end; at most 3 bytes less.
 * Bytes that are not UTF-8 are unchanged.
 */
export function wholeCharacters(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[end - back] as number;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? end - back : end;
  }
  return end;
}
