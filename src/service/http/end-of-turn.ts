/** When the event loop has seen everything that had arrived. */

let turn: Promise<void> | undefined;

/**
 * Resolves at the end of this turn of the event loop, at the same moment for all who ask in it. Answers that are written then
 * find a client awake after the first of them; to wake it for each takes the kernel longer than all the rest of a short answer.
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
