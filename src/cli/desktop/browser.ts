/** Opening a page in the browser of the person at this terminal, by the means of their system. */
import { spawn } from 'node:child_process';
import type { Context } from '../kit/context.ts';

/** How long an opener is watched: one that fails says so at once, some go on for as long as their browser. */
const watchMilliseconds = 1_500;

/** Opens a URL. Resolves to false when there is no screen here, no opener, or it failed. */
export async function openBrowser(context: Context, url: string): Promise<boolean> {
  const command = opener(context);
  if (command === undefined) return false;
  const [program, ...given] = command;
  const child = spawn(program, [...given, url], { detached: true, stdio: 'ignore', env: { ...context.env } });
  const watching = new AbortController();
  const ended = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
  const going = context.clock.sleep(watchMilliseconds, AbortSignal.any([context.signal, watching.signal])).then(
    () => true,
    () => false,
  );
  const opened = await Promise.race([ended, going]);
  watching.abort();
  child.unref();
  return opened;
}

/** The program that opens a URL, and what it takes before it. */
function opener({ env, launcher }: Context): [string, ...string[]] | undefined {
  const remote = env.SSH_CONNECTION !== undefined;
  switch (launcher.platform) {
    case 'darwin':
      return remote ? undefined : ['open'];
    case 'win32':
      // Not `start`, which is a word of the shell, and the shell reads & and % in a URL.
      return ['rundll32.exe', 'url.dll,FileProtocolHandler'];
    default: {
      const hasScreen = (env.DISPLAY ?? '') !== '' || (env.WAYLAND_DISPLAY ?? '') !== '';
      if (hasScreen) return ['xdg-open'];
      return env.WSL_DISTRO_NAME === undefined ? undefined : ['wslview'];
    }
  }
}
