/** The environment variables that aops reads: those of settings from their definitions, the others from here. */
import { settingDefinitions } from '../../config/settings.ts';

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
  ['CI', 'Set: nothing moves, nothing is asked, no colour. `false` and `0` count as not set.'],
  ['HTTP_PROXY', 'Proxy for http addresses.'],
  ['HTTPS_PROXY', 'Proxy for https addresses.'],
  ['ALL_PROXY', 'Proxy for both, where no other is named.'],
  ['NO_PROXY', 'Hosts that are reached without the proxy: names, addresses, networks. This machine always is.'],
];

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
