/** For best-effort work: runs the function and ignores what it throws. */
export function ignoreErrors(act: () => void): void {
  try {
    act();
  } catch {
    // The caller continues without it.
  }
}
