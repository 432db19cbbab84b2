/**
 * A short name for a text, for names of files: two 32-bit FNV-1a hashes. It tells files apart and hides nothing, so it must not be
 * given secrets, and need not cost what loading a cryptographic hash does at every start.
 */
export function shortName(text: string): string {
  const fnv = (basis: number): string => {
    let hash = basis;
    for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    return hash.toString(16).padStart(8, '0');
  };
  return fnv(0x811c9dc5) + fnv(0x9747b28c);
}
