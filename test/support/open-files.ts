/** The files, sockets, and pipes that this process has open. */
import { readdirSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';

/** How many of them there are. Systems other than Windows list them in a folder. */
export const countOpenFiles = (): number => readdirSync('/dev/fd').length;

/** The paths of those below a folder, on Linux. */
export async function openFilesIn(folder: string): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => ''));
  return (await Promise.all(links)).filter((file) => file.startsWith(folder));
}
