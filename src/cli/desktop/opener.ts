/** Opening files with what the person's desktop opens them with. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { isProgram } from '../../base/program.ts';
import type { Context } from '../kit/context.ts';

/** Hands a file to the desktop, and resolves to whether there is one that took it. */
export async function openFile(context: Context, file: string): Promise<boolean> {
  const opener = await openerOf(context);
  if (opener === undefined) return false;
  const [program, ...words] = opener;
  const child = spawn(program, [...words, file], { stdio: 'ignore', detached: true, env: context.env });
  child.unref();
  // That it was started is all that can be known: it may stay as long as its window.
  return once(child, 'spawn').then(
    () => true,
    () => false,
  );
}

async function openerOf({ env, launcher: { platform } }: Context): Promise<[string, ...string[]] | undefined> {
  if (platform === 'win32') return ['cmd.exe', '/d', '/c', 'start', ''];
  const desktop = platform === 'darwin' || env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER;
  if (!desktop) return undefined;
  const name = platform === 'darwin' ? 'open' : 'xdg-open';
  for (const folder of (env.PATH ?? '').split(path.delimiter)) {
    const program = path.join(folder, name);
    if (path.isAbsolute(folder) && (await isProgram(program))) return [program];
  }
  return undefined;
}
