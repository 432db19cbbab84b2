/** Which browser runs browse with: the one that was named, or the first Chromium that is found on this machine. Nothing is ever downloaded. */
import { homedir, platform } from 'node:os';
import path from 'node:path';
import { isProgram } from '../../base/program.ts';
import { ServiceError } from '../errors.ts';

/** `on` browses wherever this machine can reach, `public` the public internet alone, `off` not at all. */
export type BrowsePolicy = 'on' | 'public' | 'off';

/** Whether runs may browse, and with which browser. */
export interface Browsing {
  policy: BrowsePolicy;
  /** Path of a Chromium; without one it is looked for. */
  executable?: string;
  /** Folders to look in, as in PATH. */
  searchPath: string;
  /** Where to look after PATH; the usual places of the platform unless given. */
  places?: readonly string[];
}

/** Chromium and what is built from it, the plainest first. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'msedge', 'microsoft-edge'];

/** The executable to browse with. Throws ServiceError 400 `no_browser`, which says what to do. */
export async function findChromium({ executable, searchPath, places = usualPlaces() }: Browsing): Promise<string> {
  if (executable !== undefined) {
    if (await isProgram(executable)) return executable;
    throw noBrowser(`there is no program ${executable}, which AOPS_CHROMIUM or --chromium names`);
  }
  const extension = platform() === 'win32' ? '.exe' : '';
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const candidates = [...names.flatMap((name) => folders.map((folder) => path.join(folder, `${name}${extension}`))), ...places];
  for (const candidate of candidates) if (await isProgram(candidate)) return candidate;
  throw noBrowser('no Chromium is installed');
}

const noBrowser = (why: string): ServiceError =>
  new ServiceError(
    400,
    'no_browser',
    `${why}. Install Chromium, Chrome or Edge (on Debian and Ubuntu: apt-get install chromium), or name one: set AOPS_CHROMIUM to its path, or start the service with --chromium PATH.`,
  );

function usualPlaces(): string[] {
  switch (platform()) {
    case 'darwin':
      return [
        '/Applications/Chromium.app/Contents/MacOS/Chromium',
        '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
        '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
      ].flatMap((place) => [place, path.join(homedir(), place)]);
    case 'win32':
      return ['C:\\Program Files', 'C:\\Program Files (x86)', path.join(homedir(), 'AppData', 'Local')].flatMap((folder) => [
        path.join(folder, 'Chromium', 'Application', 'chrome.exe'),
        path.join(folder, 'Google', 'Chrome', 'Application', 'chrome.exe'),
        path.join(folder, 'Microsoft', 'Edge', 'Application', 'msedge.exe'),
      ]);
    default:
      return [
        ...['/usr/local/bin', '/usr/bin', '/bin', '/snap/bin'].flatMap((folder) => names.map((name) => path.join(folder, name))),
        '/opt/google/chrome/chrome',
        '/opt/microsoft/msedge/msedge',
      ];
  }
}
