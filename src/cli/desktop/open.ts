/** Opens pages and files on the desktop of the user, in the program that they are usually opened with. */
import type { Context } from '../kit/context.ts';
import { type OpenTarget, openCommands } from './open-commands.ts';

/** How long an opener is watched, in milliseconds: one that fails does so soon, and some run for as long as their window is open. */
const watchMilliseconds = 1_500;

/** Opens a web page. Resolves to false if there is no screen or no program for it, or if the program failed. */
export const openUrl = (context: Context, url: string): Promise<boolean> => tryOpen(context, { url });

/** Opens a file, named by its absolute path. Resolves to false in the same cases. */
export const openFile = (context: Context, file: string): Promise<boolean> => tryOpen(context, { file });

async function tryOpen(context: Context, target: OpenTarget): Promise<boolean> {
  const { env, launcher } = context;
  for (const [program = '', ...words] of openCommands({ platform: launcher.platform, env }, target)) {
    if (await tryStart(context, program, words)) return true;
  }
  return false;
}

async function tryStart(context: Context, program: string, words: readonly string[]): Promise<boolean> {
  const { spawn } = await import('node:child_process');
  const child = spawn(program, words, { detached: true, stdio: 'ignore', env: { ...context.env } });
  const watching = new AbortController();
  const exited = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
  const running = context.clock.sleep(watchMilliseconds, AbortSignal.any([context.signal, watching.signal])).then(
    () => true,
    () => false,
  );
  const isStarted = await Promise.race([exited, running]);
  watching.abort();
  child.unref();
  return isStarted;
}
