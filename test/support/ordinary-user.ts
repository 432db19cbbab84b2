/** What a user without special rights sees: root, as whom tests often run, can read everything. */
import { chownSync, readdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** Nobody, on every system. */
const ordinaryUser = 65_534;

/**
 * Calls an action as a user without special rights, who owns the folder and everything in it. Nothing else may run in this process
 * meanwhile, because all of it becomes that user.
 */
export async function asOrdinaryUser<T>(folder: string, action: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return await action();
  for (const name of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    chownSync(path.join(folder, name), ordinaryUser, ordinaryUser);
  process.seteuid?.(ordinaryUser);
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
  }
}
