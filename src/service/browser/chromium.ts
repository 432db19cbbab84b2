/** The browser that runs use: the specified one, or the first Chromium on this machine. It is never downloaded. */
import { homedir, platform } from 'node:os';
import path from 'node:path';
import { isProgram } from '../../base/program.ts';
import { ServiceError } from '../errors.ts';

/** `on` allows every address that this machine can reach, `public` only the public internet, `off` none. */
export type BrowsePolicy = 'on' | 'public' | 'off';

/** Whether runs can open pages, and with which browser. */
export interface BrowserOptions {
  policy: BrowsePolicy;
  /** The path of a Chromium; by default, one is searched for. */
  executable?: string;
  /** Folders to search, in the format of PATH. */
  searchPath: string;
  /** Where to search after PATH; by default, the usual places of the platform. */
  places?: readonly string[];
}

/** Chromium and the browsers that are based on it, the plainest first: one without windows takes half the CPU time. */
export const browserNames = [
  ...['chromium-headless-shell', 'chromium', 'chromium-browser'],
  ...['google-chrome', 'google-chrome-stable', 'chrome', 'msedge', 'microsoft-edge'],
] as const;

/** The executable of the browser. Throws ServiceError 400 `no_browser`, which explains what to do. */
export async function findChromium({ executable, searchPath, places = usualPlaces() }: BrowserOptions): Promise<string> {
  if (executable !== undefined) {
    if (await isProgram(executable)) return executable;
    throw noBrowser(`the program ${executable} from AOPS_CHROMIUM or --chromium does not exist`);
  }
  const extension = platform() === 'win32' ? '.exe' : '';
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const candidates = [...browserNames.flatMap((name) => folders.map((folder) => path.join(folder, `${name}${extension}`))), ...places];
  for (const candidate of candidates) if (await isProgram(candidate)) return candidate;
  throw noBrowser('no Chromium is installed');
}

const noBrowser = (reason: string): ServiceError =>
  new ServiceError(
    400,
    'no_browser',
    `${reason}. Install Chromium, Chrome, or Edge (on Debian and Ubuntu: apt-get install chromium), or specify its path with AOPS_CHROMIUM or --chromium PATH when you start the service.`,
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
        ...['/usr/local/bin', '/usr/bin', '/bin', '/snap/bin'].flatMap((folder) => browserNames.map((name) => path.join(folder, name))),
        '/opt/google/chrome/chrome',
        '/opt/microsoft/msedge/msedge',
      ];
  }
}
