/** UTF-8 that is cut off at a byte limit. */

/**
 * The length of `bytes` without a character that is cut off at the end; at most 3 bytes less.
 * Bytes that are not UTF-8 are unchanged.
 */
export function wholeCharacters(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let offset = 1; offset <= 3; offset++) {
    const byte = bytes[end - offset] as number;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > offset ? end - offset : end;
  }
  return end;
}
