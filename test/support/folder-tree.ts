/** The state of a folder: everything in it, to show that nothing was changed. */
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';

/**
 * Each path below a folder with its type, mode, time of change, and content. The times of git's objects are left out, because git
 * renews them when it would write an object again.
 */
export async function treeOf(root: string, folder = ''): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  for (const name of (await readdir(path.join(root, folder))).sort()) {
    const inside = path.join(folder, name);
    const place = path.join(root, inside);
    const stats = await lstat(place);
    const time = /^\.git\/objects\//.test(inside) ? '' : stats.mtimeMs;
    const facts = `${stats.mode.toString(8)} ${time}`;
    if (stats.isDirectory()) Object.assign(state, { [inside]: facts }, await treeOf(root, inside));
    else if (stats.isSymbolicLink()) state[inside] = `${facts} -> ${await readlink(place)}`;
    else
      state[inside] = `${facts} ${createHash('sha256')
        .update(await readFile(place))
        .digest('hex')}`;
  }
  return state;
}
