/** Does what is tried for its own sake: that it cannot be done is no failure. */
export function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // Whoever calls this goes on without it.
  }
}
