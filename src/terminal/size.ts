/** Sizes for people. */

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Bytes with three significant digits, without trailing zeros: `512 B`, `1.5 kB`, `20 MB`, `1.07 GB`. */
export function formatSize(bytes: number): string {
  let unit = 0;
  let amount = Math.max(0, bytes);
  while (amount >= 999.5 && unit < units.length - 1) {
    amount /= 1_000;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
  return `${Number(amount.toFixed(digits))} ${units[unit]}`;
}
