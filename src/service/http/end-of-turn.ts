/** Waits until the event loop has processed everything that had arrived. */

let turn: Promise<void> | undefined;

/**
 * Resolves at the end of this turn of the event loop, at the same moment for all callers in it. Answers are written together then:
 * waking up the client for each of them takes the kernel longer than everything else about a short answer.
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
