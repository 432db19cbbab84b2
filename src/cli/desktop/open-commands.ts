/** Which programs open a page or a file on a desktop, and their arguments. Pure. No shell reads them, so `&`, `%` and spaces are safe. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Environment } from '../../config/paths.ts';

/** What is to be opened; a file by its absolute path. */
export type OpenTarget = { url: string } | { file: string };

export interface Desktop {
  platform: string;
  env: Environment;
}

const urlHandler = 'url.dll,FileProtocolHandler';

/** The commands to try one after the other; none if there is no screen. A program that the user has chosen is the only one tried. */
export function openCommands(desktop: Desktop, target: OpenTarget): string[][] {
  const { platform, env } = desktop;
  // A URL may come from a service, and one of another scheme could start any program.
  if ('url' in target && !/^https?:\/\//i.test(target.url)) return [];
  const place = 'url' in target ? target.url : target.file;
  if (env.BROWSER) return chosenCommands(env.BROWSER, platform, place);
  if (!hasScreen(desktop)) return [];
  if (platform === 'darwin') return [['open', place]];
  if (platform === 'win32') {
    // By its full path, because Windows looks for programs in the current folder first.
    const program = path.win32.join(env.SystemRoot ?? 'C:\\Windows', 'System32', 'rundll32.exe');
    // The handler would not find a path with spaces.
    return [[program, urlHandler, 'url' in target ? target.url : pathToFileURL(target.file, { windows: true }).href]];
  }
  if (env.WSL_DISTRO_NAME === undefined) return [['xdg-open', place]];
  // Browsers usually run on Windows, which does not find the files of Linux.
  return [['wslview', place], ['xdg-open', place], ...('url' in target ? [['rundll32.exe', urlHandler, place]] : [])];
}

/** Whether a window would appear in front of the user. Over SSH it does so only on Linux, where X11 is forwarded. */
function hasScreen({ platform, env }: Desktop): boolean {
  if (platform === 'darwin' || platform === 'win32') return !env.SSH_CONNECTION;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/** `BROWSER` lists commands in the order of preference, with `%s` for what is opened, or nothing if that comes last. */
function chosenCommands(browser: string, platform: string, place: string): string[][] {
  const commands = browser.split(platform === 'win32' ? ';' : ':').map((command) => command.trim());
  return commands.filter(Boolean).flatMap((command) => {
    if (command.includes('%s')) return [command.split(/\s+/).map((word) => word.replaceAll('%s', () => place))];
    const words = [...command.split(/\s+/), place];
    // It may also be the path of a program, with spaces in it.
    return /\s/.test(command) ? [[command, place], words] : [words];
  });
}
