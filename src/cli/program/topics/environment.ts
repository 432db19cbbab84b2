/** The environment variables that aops reads: those of settings from their definitions, the others from here. */
import { settingDefinitions } from '../../../config/settings.ts';

/** Where the meaning of the setting is not what the variable says. */
const meanings: Readonly<Record<string, string>> = {
  NO_COLOR: 'Set to anything: no colour.',
  FORCE_COLOR: 'Set: colour everywhere; `0` and `false` mean none.',
};

const others: readonly (readonly [variable: string, meaning: string])[] = [
  ['AOPS_API_KEY', 'The key to sign in with; beats what is saved for the profile.'],
  ['AOPS_CLIENT_ID', 'Client credentials instead of a key, with `AOPS_CLIENT_SECRET` and `AOPS_TOKEN_URL`.'],
  ['AOPS_CLIENT_SECRET', 'See `AOPS_CLIENT_ID`.'],
  ['AOPS_TOKEN_URL', 'Where client credentials are exchanged for a token.'],
  ['AOPS_SCOPE', 'What the token may be used for: words separated by spaces. What the client may do by default when unset.'],
  ['AOPS_CONFIG_DIR', 'Folder of profiles, settings and credentials (default `$XDG_CONFIG_HOME/aops`, `~/.config/aops`).'],
  ['AOPS_DATA_DIR', 'Folder of the data of the local service (default `$XDG_DATA_HOME/aops`, `~/.local/share/aops`).'],
  ['AOPS_CACHE_DIR', 'Folder of what may be deleted at any time (default `$XDG_CACHE_HOME/aops`, `~/.cache/aops`).'],
  ['AOPS_CHROMIUM', 'The browser that runs of the local service browse with: the path of a Chromium, Chrome or Edge. Flag: `--chromium`.'],
  ['AOPS_NO_RATE_SHARING', 'Set to anything: do not tell other processes how much of the rate limit is left, nor ask them.'],
  [
    'AOPS_WEBHOOK_SECRET',
    'The signing secret that `aops webhooks listen` and `aops webhooks verify` check requests with, without --secret.',
  ],
  ['VISUAL', 'The editor for long answers; beats `EDITOR`.'],
  ['EDITOR', 'The editor for long answers, where `VISUAL` is not set.'],
  ['CI', 'When set, there are no animations, prompts or colours. `false` and `0` count as not set.'],
  ['HTTP_PROXY', 'Proxy for http addresses.'],
  ['HTTPS_PROXY', 'Proxy for https addresses.'],
  ['ALL_PROXY', 'Proxy for both, where no other is named.'],
  ['NO_PROXY', 'Hosts that are reached without the proxy: names, addresses, networks. This machine always is.'],
];

/** What other programs set, and aops goes by. */
const surroundings: readonly (readonly [variables: string, meaning: string])[] = [
  ['HOME', 'Your home folder.'],
  ['XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME', 'Where programs keep their folders; on Windows `APPDATA` and `LOCALAPPDATA`.'],
  ['PATH', 'Where programs are found: a browser, the pager, and those that runs of the local service call.'],
  ['TMPDIR', 'Folder of temporary files.'],
  ['TERM, COLUMNS', 'What the terminal can do; its width, where it does not tell.'],
  ['LANG, LC_ALL, LC_CTYPE', 'Whether the terminal shows more than ASCII.'],
  [
    'FORCE_HYPERLINK',
    'Whether links are written to the terminal (`0` for not); otherwise `TERM_PROGRAM`, `VTE_VERSION`, `KONSOLE_VERSION` and `WT_SESSION` tell.',
  ],
  ['LESS, LV', 'Options of the pager; when unset, it ends by itself after short output and passes colours.'],
  ['BROWSER, DISPLAY, WAYLAND_DISPLAY', 'Whether a page can be opened here; `SSH_CONNECTION` and `WSL_DISTRO_NAME` tell too.'],
  ['SHELL', 'Whose completion `aops doctor` looks for.'],
  ['NODE_EXTRA_CA_CERTS', 'A file of certificate authorities that are trusted too.'],
  ['NODE_TLS_REJECT_UNAUTHORIZED', '`0` turns the checking of certificates off; `aops doctor` warns of it.'],
];

/** Rows about variables that other programs set. */
export const surroundingRows = (): [string, string][] => surroundings.map(([variables, meaning]) => [variables, meaning]);

/** Rows of variable and meaning; words as they are typed stand in backquotes. */
export function environmentRows(): [string, string][] {
  const ofSettings = settingDefinitions.flatMap(({ environment, flag, description }) =>
    environment.map((variable): [string, string] => [
      variable,
      `${meanings[variable] ?? description}${flag === undefined ? '' : ` Flag: \`${flag}\`.`}`,
    ]),
  );
  return [...ofSettings, ...others.map(([variable, meaning]): [string, string] => [variable, meaning])];
}
