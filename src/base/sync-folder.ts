/** Makes the names of new files durable. */
import { open } from 'node:fs/promises';

/** Makes the names of new files in a folder durable, where the system can open folders. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
