/**
 * A short name derived from a text, for file names: two 32-bit FNV-1a hashes. It only tells files apart and hides nothing, so never
 * pass it a secret. It saves loading a cryptographic hash at every start.
 */
export function shortName(text: string): string {
  const fnv = (basis: number): string => {
    let hash = basis;
    for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    return hash.toString(16).padStart(8, '0');
  };
  return fnv(0x811c9dc5) + fnv(0x9747b28c);
}
