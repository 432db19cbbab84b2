/** Sandboxes that a transaction removes: they are out of use before it is committed, and back in use if it is not. */
import type { AsideSandbox, SandboxStore } from './sandbox-store.ts';

/** The part of a transaction that removes sandboxes. */
export interface SandboxRemoval {
  /** Takes a sandbox out of use. */
  putAside(id: string): Promise<void>;
}

/**
 * Removes the sandboxes that a transaction puts aside, when it has succeeded.
 * @param execute executes the transaction: it must pass `attempt` what one execution does, of which nothing remains if there is another
 */
export async function removingSandboxes<Result>(
  sandboxes: Pick<SandboxStore, 'putAside'>,
  execute: (attempt: <Part>(work: (removal: SandboxRemoval) => Promise<Part>) => Promise<Part>) => Promise<Result>,
): Promise<Result> {
  let aside: AsideSandbox[] = [];
  const putBack = async (): Promise<void> => {
    for (const sandbox of aside) await sandbox.putBack();
    aside = [];
  };
  let result: Result;
  try {
    result = await execute(async (work) => {
      await putBack();
      return work({ putAside: async (id) => void aside.push(await sandboxes.putAside(id)) });
    });
  } catch (error) {
    await putBack();
    throw error;
  }
  for (const sandbox of aside) await sandbox.remove();
  return result;
}
